//! What is lost on the way through molecule's form (T-02), and what its flat view keeps.

use nuncio_protocol::{
    dialect::molecule::{Molecule, MoleculeHttp},
    json::{Object, read_with, write_with},
    operation::{Operation, Request, Response},
    state::TaskState,
    task::{StreamResponse, TaskStatus},
    wire::{JsonRpcForm, StreamEnd},
};
use proptest::prelude::*;

use crate::{
    forget::{self, part, send, stream, task},
    losses::{Loss, Said, Translation, through_http, through_json_rpc},
    model, walk,
};

const TRANSLATION: Translation = Translation {
    form: "molecule",
    losses: LOSSES,
    round_trip: |said| match said {
        // Molecule looks tasks up by another way than it does all else.
        Said::Request(Request::GetTask(_)) | Said::Response(Operation::GetTask, _) => {
            through_http(&MoleculeHttp::default(), said)
        }
        said => through_json_rpc(&Molecule::default(), said),
    },
};

const LOSSES: &[Loss] = &[
    Loss {
        id: "tenant",
        forget: forget::tenant,
        witness: || {
            let wishes = r#"{"taskPushNotificationConfig":{"tenant":"a","url":"u"}}"#;
            stream(&format!(r#""tenant":"a","configuration":{wishes}"#))
        },
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
            let webhook = r#"{"url":"u","authentication":{"scheme":""}}"#;
            let wishes = format!(r#"{{"taskPushNotificationConfig":{webhook}}}"#);
            send(&format!(r#""configuration":{wishes}"#), "")
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
    Loss {
        id: "state",
        forget: forget_told_state,
        witness: || {
            task(r#""contextId":"c","status":{"state":7},"metadata":{"state":1,"reason":2,"k":3}"#)
        },
    },
];

fn forget_told_state(said: &mut Said) {
    if let Said::Event(StreamResponse::StatusUpdate(update)) = said {
        forget_told(&mut update.status, &mut update.metadata);
    }
    for task in walk::tasks(said) {
        forget_told(&mut task.status, &mut task.metadata);
    }
}

fn forget_told(status: &mut TaskStatus, metadata: &mut Option<Object>) {
    let told: &[&str] = match status.state {
        TaskState::AuthRequired => &["state"],
        TaskState::Rejected => &["state", "reason"],
        _ => return,
    };
    let rest = metadata.take().map(|all| told.iter().fold(all, |all, key| all.without(key)));
    *metadata = rest.filter(|rest| !rest.is_empty());
}

#[test]
fn each_loss_is_real_and_documented() {
    TRANSLATION.check_losses();
}

/// Writes an event in the flat view.
fn flat(event: &StreamResponse) -> String {
    let form = Molecule { flat: true };
    write_with(|writer| form.write_event(event, StreamEnd::Open, writer))
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
    fn tasks_survive_being_looked_up(task in model::task::task()) {
        TRANSLATION.check(&Said::Response(Operation::GetTask, Response::Task(task)));
    }

    #[test]
    fn events_survive(event in model::task::event()) {
        TRANSLATION.check(&Said::Event(event));
    }

    /// The flat view shows a part of what there is; all that it shows survives.
    #[test]
    fn what_the_flat_view_shows_survives(event in model::task::event()) {
        let shown = flat(&event);
        let form = Molecule { flat: true };
        let back = read_with(&shown, |reader| form.read_event(reader)).unwrap();
        prop_assert_eq!(flat(&back), shown);
        prop_assert_eq!(back.state(), event.state());
        let mut parts = [Said::Event(event), Said::Event(back)].map(|mut said| {
            let parts = walk::artifact_parts(&mut said);
            parts.into_iter().map(|part| part.content.clone()).collect::<Vec<_>>()
        });
        prop_assert_eq!(std::mem::take(&mut parts[0]), std::mem::take(&mut parts[1]));
    }
}
