//! Peers that speak a dialect, played by our own server.

use std::net::SocketAddr;

use nuncio_client::{Error, Remote};
use nuncio_protocol::{
    card::{AgentCard, AgentSkill},
    dialect::WireForm,
    error::ErrorKind,
    ids::TaskId,
    json::{Object, Raw},
    operation::{GetTaskRequest, Request, Response},
    state::TaskState,
    task::SendMessageResponse,
};
use nuncio_server::{
    Dialects,
    dialects::{Molecule, Opportunity, PocketPaw},
};

use crate::wire::support::{
    Served, client, interface, nobody, patiently, pieces, rest, script, send,
};

fn remote(address: SocketAddr, path: &str, form: WireForm) -> Remote {
    let client = client();
    let interface = interface(&client, &format!("http://{address}{path}"), form);
    Remote::new(client, interface)
}

async fn served(dialects: Dialects) -> Served {
    let card = AgentCard::builder("script")
        .description("does as it is told")
        .skill(AgentSkill::new("talk", "talk", "talks", ["talk"]))
        .input_modes(["text/plain", "application/json"])
        .output_modes(["text/plain", "application/json"])
        .streaming()
        .build();
    Served::start(script().card(card).dialects(dialects)).await
}

/// Sends a message that is said back, and returns the task that came of it, if there is one.
async fn say(remote: &Remote) -> Option<TaskId> {
    let name = remote.interface().form.name();
    let mut request = send("hello");
    // The one form that names a capability names this one.
    let skill = Object::from_members([("skillId", Raw::string("talk"))]);
    request.message.metadata = Some(skill.clone());
    request.metadata = Some(skill);
    let answered = patiently(remote.call(nobody(), Request::SendMessage(request))).await;
    let answered = answered.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    match answered.into_response().unwrap_or_else(|error| panic!("{name}: {error}")) {
        Response::SendMessage(SendMessageResponse::Task(task)) => {
            assert_eq!(task.status.state, TaskState::Completed, "{name}");
            Some(task.id)
        }
        Response::SendMessage(SendMessageResponse::Message(message)) => {
            assert!(message.text().contains("hello"), "{name}: {}", message.text());
            None
        }
        other => panic!("{name}: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_dialect_is_spoken() {
    let cases = [
        (Dialects::default(), "/", WireForm::V02),
        (Dialects::default().molecule(Molecule::default()), "/a2a", WireForm::Molecule),
        (Dialects::default().harbor(), "/a2a", WireForm::Harbor),
        (Dialects::default().upal(), "/a2a/nodes/talk", WireForm::Upal),
        (Dialects::default().pocketpaw(PocketPaw::default()), "/a2a", WireForm::PocketPaw),
        (Dialects::default().pocketpaw(PocketPaw::default()), "/", WireForm::PocketPawHttp),
        (Dialects::default().opportunity(Opportunity::default()), "/a2a", WireForm::Opportunity),
    ];
    for (dialects, path, form) in cases {
        let served = served(dialects).await;
        let remote = remote(served.address, path, form);
        let task = say(&remote).await;
        let Some(id) = task else { continue };
        let get = GetTaskRequest { tenant: None, id: id.clone(), history_length: None };
        match remote.call(nobody(), Request::GetTask(get)).await {
            Ok(answered) => match answered.into_response() {
                Ok(Response::Task(task)) => assert_eq!(task.id, id, "{}", form.name()),
                other => panic!("{}: {other:?}", form.name()),
            },
            // Not every dialect has a way to ask.
            Err(Error::Unsayable { cause, .. }) => {
                assert_eq!(cause.kind(), ErrorKind::UnsupportedOperation, "{}", form.name());
            }
            Err(error) => panic!("{}: {error:?}", form.name()),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_dialects_come_whole() {
    let cases = [
        (Dialects::default(), "/", WireForm::V02),
        (Dialects::default().molecule(Molecule::default()), "/a2a", WireForm::Molecule),
        (Dialects::default().harbor(), "/a2a", WireForm::Harbor),
        (Dialects::default().pocketpaw(PocketPaw::default()), "/a2a", WireForm::PocketPaw),
        (Dialects::default().pocketpaw(PocketPaw::default()), "/", WireForm::PocketPawHttp),
    ];
    for (dialects, path, form) in cases {
        let served = served(dialects).await;
        let remote = remote(served.address, path, form);
        let request = Request::SendStreamingMessage(send("hello"));
        let events = patiently(remote.stream(nobody(), request)).await;
        let events = events.unwrap_or_else(|error| panic!("{}: {error:?}", form.name()));
        let events =
            rest(events).await.unwrap_or_else(|error| panic!("{}: {error:?}", form.name()));
        assert!(pieces(&events).contains("hello"), "{}: {events:?}", form.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn molecules_are_asked_for_the_state_of_a_task_by_its_path() {
    let served = served(Dialects::default().molecule(Molecule::default())).await;
    let id = say(&remote(served.address, "/a2a", WireForm::Molecule)).await.unwrap();
    let status = remote(served.address, "/", WireForm::MoleculeHttp);
    let get = GetTaskRequest { tenant: None, id: id.clone(), history_length: None };
    let answered = status.call(nobody(), Request::GetTask(get)).await.unwrap();
    match answered.into_response() {
        Ok(Response::Task(task)) => assert_eq!(task.id, id),
        other => panic!("{other:?}"),
    }
    let sent = status.call(nobody(), Request::SendMessage(send("hello"))).await;
    assert!(matches!(sent, Err(Error::Unsayable { .. })), "{sent:?}");
}
