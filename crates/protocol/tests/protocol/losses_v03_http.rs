//! What is lost on the way through A2A 0.3 on HTTP+JSON (T-02).

use nuncio_protocol::{
    dialect::v03_http::V03Http,
    http::HttpForm,
    operation::{Operation, Request},
    wire::StreamEnd,
};
use proptest::prelude::*;

use crate::{
    forget::{self, part, send, task},
    losses::{Loss, Said, Translation, through_http},
    model, walk,
};

const TRANSLATION: Translation = Translation {
    form: "v03_http",
    losses: LOSSES,
    round_trip: |said| (!forget::is_card(said)).then(|| through_http(&V03Http, said)).flatten(),
};

const LOSSES: &[Loss] = &[
    Loss {
        id: "tenant",
        forget: forget::tenant,
        witness: || {
            Said::request(
                Operation::CreateTaskPushNotificationConfig,
                r#"{"tenant":"a","taskId":"t","url":"u"}"#,
            )
        },
    },
    Loss { id: "wishes", forget: forget::no_wishes, witness: || send("", "") },
    Loss {
        id: "history",
        forget: forget_no_history,
        witness: || Said::request(Operation::GetTask, r#"{"id":"t","historyLength":0}"#),
    },
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
        id: "cancel",
        forget: forget_cancel_metadata,
        witness: || Said::request(Operation::CancelTask, r#"{"id":"t","metadata":{"k":1}}"#),
    },
    Loss {
        id: "references",
        forget: forget_references,
        witness: || send(r#""configuration":{}"#, r#""referenceTaskIds":["r"]"#),
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

fn forget_no_history(said: &mut Said) {
    match said {
        Said::Request(Request::GetTask(request)) => {
            request.history_length.take_if(|length| *length == 0);
        }
        said => {
            if let Some(wishes) = walk::send(said).and_then(|send| send.configuration.as_mut()) {
                wishes.history_length.take_if(|length| *length == 0);
            }
        }
    }
}

fn forget_cancel_metadata(said: &mut Said) {
    if let Said::Request(Request::CancelTask(request)) = said {
        request.metadata = None;
    }
}

fn forget_references(said: &mut Said) {
    for message in walk::messages(said) {
        message.reference_task_ids.clear();
    }
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

    /// An error keeps all that its metadata says; the rest has no place in 0.3.
    #[test]
    fn errors_survive(error in model::error::error()) {
        let reply = V03Http.write_reply(Operation::GetTask, Err(&error));
        let answer = V03Http.read_reply(Operation::GetTask, reply.status, reply.body.as_bytes());
        let frame = V03Http.write_frame(Err(&error), StreamEnd::Closing);
        let event = V03Http.read_frame(&frame.data);
        for back in [answer.unwrap_err(), event.unwrap_err()] {
            prop_assert_eq!(back.kind(), error.kind());
            prop_assert_eq!(back.message(), error.message());
            let mut metadata = error.metadata().clone();
            metadata.remove("reason");
            prop_assert_eq!(back.metadata(), &metadata);
        }
    }
}
