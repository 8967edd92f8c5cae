//! Nothing is lost between the model and its JSON.

use nuncio_protocol::{
    json::{self, FromJson, ToJson, read_with},
    message::Part,
    operation::{Request, Response},
};
use proptest::prelude::*;

use crate::model;

#[track_caller]
fn check<T>(value: &T)
where
    T: FromJson + ToJson + serde::Serialize + std::fmt::Debug + PartialEq,
{
    let text = json::to_string(value);
    assert_eq!(json::from_str::<T>(&text).as_ref(), Ok(value), "{text}");
    // No letter becomes more than six when it is escaped.
    let (weight, length) = (value.weight(), text.len());
    assert!(length <= 6 * weight && weight <= 2 * length, "{weight} for {length} bytes: {text}");
    assert_eq!(serde_json::to_string(value).ok(), Some(text));
}

proptest! {
    #[test]
    fn parts_survive(part in model::message::part()) {
        check(&part);
    }

    #[test]
    fn data_survives_in_any_spelling(data in model::json::any_spelling()) {
        check(&Part::data(data));
    }

    #[test]
    fn messages_survive(message in model::message::message()) {
        check(&message);
    }

    #[test]
    fn artifacts_survive(artifact in model::task::artifact()) {
        check(&artifact);
    }

    #[test]
    fn tasks_survive(task in model::task::task()) {
        check(&task);
    }

    #[test]
    fn events_survive(event in model::task::event()) {
        check(&event);
    }

    #[test]
    fn answers_to_messages_survive(response in model::task::send_response()) {
        check(&response);
    }

    #[test]
    fn webhooks_survive(config in model::operation::push_config()) {
        check(&config);
    }

    #[test]
    fn cards_survive(card in model::card::card()) {
        check(&card);
    }

    #[test]
    fn requests_survive(request in model::operation::request()) {
        let text = json::to_string(&request);
        let operation = request.operation();
        let read = read_with(&text, |reader| Request::read(operation, reader));
        prop_assert_eq!(read.unwrap(), request);
    }

    #[test]
    fn answers_survive((operation, response) in model::operation::response()) {
        let text = json::to_string(&response);
        let read = read_with(&text, |reader| Response::read(operation, reader));
        prop_assert_eq!(read.unwrap(), response);
    }

    #[test]
    fn moments_survive(moment in model::moment()) {
        check(&moment);
    }
}
