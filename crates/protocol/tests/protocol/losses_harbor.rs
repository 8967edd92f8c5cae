//! What is lost on the way through Harbor's form (T-02).

use nuncio_protocol::{
    card::read_any,
    dialect::harbor::Harbor,
    json::{read_with, write_with},
    operation::{Operation, Request},
    wire::{JsonRpcForm, V1, card_document},
};
use proptest::prelude::*;

use crate::{
    forget::{self, part},
    losses::{Loss, Said, Translation, through_json_rpc},
    model, walk,
};

const TRANSLATION: Translation = Translation {
    form: "harbor",
    losses: LOSSES,
    round_trip: |said| (!forget::is_card(said)).then(|| through_json_rpc(&Harbor, said)).flatten(),
};

const LOSSES: &[Loss] = &[
    Loss {
        id: "data",
        forget: |said| walk::each_part(said, forget::wrapped_by_hand),
        witness: || part(r#"{"data":{"value":7},"metadata":{"data_part_compat":true}}"#),
    },
    Loss {
        id: "moment",
        forget: forget_zero_moment,
        witness: || {
            Said::request(
                Operation::ListTasks,
                r#"{"statusTimestampAfter":"0001-01-01T00:00:00Z"}"#,
            )
        },
    },
];

fn forget_zero_moment(said: &mut Said) {
    let Said::Request(Request::ListTasks(request)) = said else { return };
    let zero = "0001-01-01T00:00:00Z".parse().expect("a moment");
    request.status_timestamp_after.take_if(|moment| *moment == zero);
}

#[test]
fn each_loss_is_real_and_documented() {
    TRANSLATION.check_losses();
}

proptest! {
    #[test]
    fn requests_survive(request in model::operation::request()) {
        TRANSLATION.check(&Said::Request(request));
    }

    #[test]
    fn answers_survive((operation, response) in model::operation::response()) {
        TRANSLATION.check(&Said::Response(operation, response));
    }

    #[test]
    fn events_survive(event in model::task::event()) {
        TRANSLATION.check(&Said::Event(event));
    }

    /// A card says in Harbor's form what it says in that of 1.0.
    #[test]
    fn cards_survive(card in model::card::card()) {
        let harbor = card_document(&Harbor, &card);
        let v1 = card_document(&V1, &card);
        let read = |text: &str| read_any(text).map(|(card, _)| card);
        prop_assert_eq!(read(&harbor), read(&v1), "{}", harbor);
    }

    #[test]
    fn errors_survive(error in model::error::error()) {
        let json = write_with(|writer| Harbor.write_error(&error, writer));
        prop_assert_eq!(read_with(&json, |reader| Harbor.read_error(reader)).unwrap(), error);
    }
}
