//! What is lost on the way through A2A 0.3 and 0.2 on JSON-RPC (T-02).

use nuncio_protocol::{
    dialect::{v02::V02, v03::V03},
    error::Error,
    json::{read_with, write_with},
    operation::{Operation, Request, Response},
    wire::JsonRpcForm,
};
use proptest::prelude::*;

use crate::{
    forget::{self, part, send, task},
    losses::{Loss, Said, Translation, through_json_rpc},
    model,
};

const TRANSLATION: Translation = Translation {
    form: "v03",
    losses: LOSSES,
    round_trip: |said| (!forget::is_card(said)).then(|| through_json_rpc(&V03, said)).flatten(),
};

/// 0.2 loses what 0.3 does.
const OLDER: Translation = Translation {
    round_trip: |said| (!forget::is_card(said)).then(|| through_json_rpc(&V02, said)).flatten(),
    ..TRANSLATION
};

const LOSSES: &[Loss] = &[
    Loss {
        id: "tenant",
        forget: forget::tenant,
        witness: || {
            let webhook = r#"{"tenant":"a","url":"u"}"#;
            send(
                &format!(
                    r#""tenant":"a","configuration":{{"taskPushNotificationConfig":{webhook}}}"#
                ),
                "",
            )
        },
    },
    Loss { id: "wishes", forget: forget::no_wishes, witness: || send("", "") },
    Loss {
        id: "webhook",
        forget: forget::webhook_task,
        witness: || {
            let webhook = r#"{"taskId":"t","url":"u"}"#;
            let wishes = format!(r#"{{"taskPushNotificationConfig":{webhook}}}"#);
            send(&format!(r#""configuration":{wishes}"#), "")
        },
    },
    Loss {
        id: "authentication",
        forget: forget::authentication,
        witness: || {
            Said::response(
                Operation::GetTaskPushNotificationConfig,
                r#"{"url":"u","authentication":{"scheme":""}}"#,
            )
        },
    },
    Loss {
        id: "paging",
        forget: forget_paging,
        witness: || {
            Said::response(
                Operation::ListTaskPushNotificationConfigs,
                r#"{"configs":[],"nextPageToken":"n"}"#,
            )
        },
    },
    Loss {
        id: "role",
        forget: forget::role,
        witness: || {
            task(
                r#""contextId":"c","status":{"state":3,"message":{"messageId":"m","role":0,"parts":[]}}"#,
            )
        },
    },
    Loss {
        id: "part",
        forget: forget::part_names,
        witness: || part(r#"{"text":"x","filename":"f","mediaType":"a/b"}"#),
    },
    Loss {
        id: "data",
        forget: forget::wrapping,
        witness: || part(r#"{"data":{"value":7},"metadata":{"data_part_compat":true}}"#),
    },
    Loss { id: "context", forget: forget::context, witness: || task(r#""status":{"state":3}"#) },
];

fn forget_paging(said: &mut Said) {
    match said {
        Said::Request(Request::ListTaskPushNotificationConfigs(request)) => {
            request.page_size = 0;
            request.page_token.clear();
        }
        Said::Response(_, Response::PushConfigs(page)) => page.next_page_token.clear(),
        _ => {}
    }
}

#[test]
fn each_loss_is_real_and_documented() {
    TRANSLATION.check_losses();
    OLDER.check_losses();
}

#[test]
fn empty_metadata_of_wrapped_data_is_lost() {
    for data in [
        r#"{"data":7,"metadata":{}}"#,
        r#"{"data":7,"metadata":{"data_part_compat":"mine","a":3}}"#,
    ] {
        let said = part(data);
        assert_ne!((TRANSLATION.round_trip)(&said).unwrap(), said);
        TRANSLATION.check(&said);
    }
}

proptest! {
    #[test]
    fn requests_survive(request in model::operation::request()) {
        TRANSLATION.check(&Said::Request(request.clone()));
        OLDER.check(&Said::Request(request));
    }

    #[test]
    fn answers_survive((operation, response) in model::operation::response()) {
        TRANSLATION.check(&Said::Response(operation, response.clone()));
        OLDER.check(&Said::Response(operation, response));
    }

    #[test]
    fn events_survive(event in model::task::event()) {
        TRANSLATION.check(&Said::Event(event));
    }

    /// An error keeps all that its metadata says; the rest has no place in 0.3.
    #[test]
    fn errors_survive(error in model::error::error()) {
        let json = write_with(|writer| V03.write_error(&error, writer));
        let back: Error = read_with(&json, |reader| V03.read_error(reader)).unwrap();
        prop_assert_eq!(back.kind(), error.kind());
        prop_assert_eq!(back.message(), error.message());
        prop_assert_eq!(back.reason(), error.reason());
        let mut metadata = error.metadata().clone();
        metadata.remove("reason");
        prop_assert_eq!(back.metadata(), &metadata);
    }
}
