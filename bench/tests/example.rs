//! The agent that is measured, as others start it: by its variables alone.

use std::process::Command;

use nuncio_testkit::{process, program::Program};

fn start(variables: &[(&str, &str)]) -> Program {
    let mut command = Command::new(process::example("bench_echo"));
    Program::start(command.env("PORT", "0").envs(variables.iter().copied()))
}

fn message(text: &str) -> String {
    format!(
        r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}},
        "configuration":{{"returnImmediately":{}}}}}"#,
        text == "hold"
    )
}

#[test]
fn bench_echo_echoes_counts_and_holds_on_every_store() {
    let directory = tempfile::tempdir().expect("a folder");
    let sqlite = format!("sqlite:{}", directory.path().join("data").display());
    for store in ["memory", &sqlite] {
        let example = start(&[("STORE", store)]);
        let answer = example.post("/message:send", &message("hi"));
        assert!(answer.contains(r#""artifactId":"out","parts":[{"text":"hi"}]"#), "{answer}");
        let stream = example.post("/message:stream", &message("chunks:3"));
        assert_eq!(stream.matches("artifactUpdate").count(), 3, "{stream}");
        assert!(stream.contains("00000002 abcdefghijklmnopqrstuvw"), "{stream}");
        let answer = example.post("/message:send", &message("hold"));
        let (_, rest) = answer.split_once(r#"{"task":{"id":""#).expect("it is a task");
        let (id, _) = rest.split_once('"').expect("a text has an end");
        let (_, held) = example.send("GET", &format!("/tasks/{id}"), "", "");
        assert!(!held.contains("COMPLETED"), "{held}");
        let answer = example.post(&format!("/tasks/{id}:cancel"), "{}");
        assert!(answer.contains("TASK_STATE_CANCELED"), "{answer}");
    }
}

#[test]
fn bench_echo_has_a_port_for_grpc_where_one_is_given() {
    let example = start(&[("GRPC_PORT", "0")]);
    let (_, card) = example.send("GET", "/.well-known/agent-card.json", "", "");
    let own = example.address();
    let (_, rest) = card.split_once(r#""supportedInterfaces""#).expect("the card says where it is");
    assert!(rest.contains(&format!(r#""url":"http://{own}""#)), "{card}");
    let grpc = |url: &str| url.contains("127.0.0.1:") && !url.contains(own);
    let urls = rest.split(r#""url":""#).skip(1).filter_map(|url| url.split('"').next());
    assert!(urls.into_iter().any(grpc), "{card}");
}
