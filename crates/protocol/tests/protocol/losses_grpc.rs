//! What is lost on the way through gRPC (T-02).

use nuncio_protocol::{
    card::{AgentCard, AgentInterface},
    error::ErrorKind,
    grpc::v03,
    json::Object,
    message::{Message, Part, Role},
    operation::{Operation, Response},
    task::StreamResponse,
};
use proptest::prelude::*;

use crate::{
    grpc_v03_losses,
    losses::{Said, Translation},
    model, open_json, through_grpc,
};

const V1: Translation = Translation {
    form: "gRPC 1.0",
    losses: &[open_json::BIG_INTEGERS, open_json::JSON_SPELLING],
    round_trip: through_grpc::through_v1,
};

const V03: Translation = Translation {
    form: "gRPC 0.3",
    losses: grpc_v03_losses::LOSSES,
    round_trip: through_grpc::through_v03,
};

#[track_caller]
fn check(said: &Said) {
    V1.check(said);
    V03.check(said);
}

#[test]
fn losses_are_what_the_document_says() {
    V1.check_losses();
    V03.check_losses();
}

/// Else the webhook of another task would be meant.
#[test]
fn a_task_that_reads_as_a_webhook_is_never_named_in_0_3() {
    const ID: &str = r#""a/pushNotificationConfigs/b""#;
    for &operation in Operation::ALL {
        let (request, answer) = match operation {
            Operation::GetTask | Operation::CancelTask | Operation::SubscribeToTask => {
                (format!(r#"{{"id":{ID}}}"#), None)
            }
            Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig => {
                let webhook = format!(r#"{{"taskId":{ID},"id":"c","url":"u"}}"#);
                (webhook.clone(), Some(webhook))
            }
            Operation::ListTaskPushNotificationConfigs => (
                format!(r#"{{"taskId":{ID}}}"#),
                Some(format!(r#"{{"configs":[{{"taskId":{ID},"url":"u"}}]}}"#)),
            ),
            Operation::DeleteTaskPushNotificationConfig => {
                (format!(r#"{{"taskId":{ID},"id":"c"}}"#), None)
            }
            _ => continue,
        };
        let request = Said::request(operation, &request);
        assert_eq!(through_grpc::through_v03(&request), None);
        if let Some(answer) = answer {
            let answer = Said::response(operation, &answer);
            assert_eq!(through_grpc::through_v03(&answer), None);
        }
    }
}

/// Any part of data that says to be wrapped, or not, rightly or wrongly.
fn marked_part() -> impl Strategy<Value = Part> {
    let wrapped = model::json::canonical()
        .prop_map(|value| Object::from_members([("value", value)]).into_raw());
    let data = prop_oneof![model::json::canonical(), wrapped];
    let metadata = [
        r#"{"data_part_compat":true}"#,
        r#"{"a":1,"data_part_compat":true}"#,
        r#"{"data_part_compat":false}"#,
    ];
    let metadata = prop::sample::select(
        metadata.map(|text| Object::parse_text(text).expect("an object")).to_vec(),
    );
    (data, metadata)
        .prop_map(|(data, metadata)| Part { metadata: Some(metadata), ..Part::data(data) })
}

/// Any card of interfaces that are alike, or lack something.
fn odd_interfaces() -> impl Strategy<Value = Said> {
    let interface = (
        prop::sample::select(vec!["", "u"]),
        prop::sample::select(vec!["", "JSONRPC", "GRPC"]),
        prop::sample::select(vec!["", "0.3", "1.0"]),
    );
    prop::collection::vec(interface, 0..5).prop_map(|interfaces| {
        let interfaces = interfaces.into_iter().map(|(url, binding, version)| AgentInterface {
            url: url.to_owned(),
            protocol_binding: binding.to_owned(),
            tenant: None,
            protocol_version: version.to_owned(),
        });
        let supported_interfaces = interfaces.collect();
        let card = AgentCard { name: "n".to_owned(), supported_interfaces, ..Default::default() };
        Said::Response(Operation::GetExtendedAgentCard, Response::Card(card))
    })
}

fn say(part: Part) -> Said {
    Said::Event(StreamResponse::Message(Message::new(Role::Agent, part)))
}

proptest! {
    #[test]
    fn requests_lose_nothing_else(request in model::operation::request()) {
        check(&Said::Request(request));
    }

    #[test]
    fn answers_lose_nothing_else((operation, response) in model::operation::response()) {
        check(&Said::Response(operation, response));
    }

    #[test]
    fn events_lose_nothing_else(event in model::task::event()) {
        check(&Said::Event(event));
    }

    #[test]
    fn messages_lose_nothing_else(message in model::message::message()) {
        check(&Said::Event(StreamResponse::Message(message)));
    }

    #[test]
    fn tasks_lose_nothing_else(task in model::task::task()) {
        check(&Said::Response(Operation::GetTask, Response::Task(task)));
    }

    #[test]
    fn cards_lose_nothing_else(card in model::card::card()) {
        check(&Said::Response(Operation::GetExtendedAgentCard, Response::Card(card)));
    }

    #[test]
    fn odd_interfaces_lose_nothing_else(card in odd_interfaces()) {
        check(&card);
    }

    #[test]
    fn json_of_any_spelling_loses_nothing_else(data in model::json::any_spelling()) {
        check(&say(Part::data(data)));
    }

    #[test]
    fn marked_data_loses_nothing_else(part in marked_part()) {
        check(&say(part));
    }

    #[test]
    fn a_card_cannot_be_said_in_0_3_only_if_it_does_not_speak_it(card in model::card::card()) {
        let speaks = card.supported_interfaces.iter().any(grpc_v03_losses::speaks_v03);
        match v03::AgentCard::try_from(card) {
            Ok(_) => prop_assert!(speaks),
            Err(error) => {
                prop_assert_eq!(error.kind(), ErrorKind::VersionNotSupported);
                prop_assert!(!speaks);
            }
        }
    }
}
