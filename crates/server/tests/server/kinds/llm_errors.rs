//! Everything that can go wrong at a provider's.

use std::time::Duration;

use nuncio_protocol::{message::Message, state::TaskState};
use nuncio_server::kinds::llm::{Llm, Provider, ProviderKind, Settings};
use nuncio_testkit::llm::{self as scripted, Answer, Ending};

use super::{
    desk::{Desk, client, failure},
    llm::{llm, model},
};

async fn check(kind: ProviderKind, answer: Answer, expected: &str) {
    let provider = scripted::Provider::start([answer]).await;
    let settings = Settings { max_tokens: Some(9), ..Settings::default() };
    let task = llm(kind, &provider, settings).ask("hello").await;
    assert_eq!(failure(&task), format!("{}/m-1.5: {expected}", kind.as_str()));
}

fn refuses(status: u16, headers: &str, body: &str) -> Answer {
    Answer::Refuses(status, headers.to_owned(), body.to_owned())
}

#[tokio::test]
async fn a_wrong_key_is_named_and_never_shown() {
    for kind in ProviderKind::ALL {
        if kind == ProviderKind::Ollama {
            continue;
        }
        let server = scripted::Provider::start([]).await;
        let url = if kind == ProviderKind::OpenAi { "/v1" } else { "" };
        let key = scripted::KEY.to_uppercase();
        let provider =
            Provider::new(kind, client()).url(format!("{}{url}", server.url())).key(key.as_str());
        let model = provider.model("m-1.5").expect("it may be reached");
        let said = failure(&Desk::hire(Llm::new(model, Settings::default())).ask("hello").await);
        let status = match kind {
            ProviderKind::Gemini => "400 Bad Request",
            _ => "401 Unauthorized",
        };
        assert_eq!(
            said,
            format!(
                "{}/m-1.5: the provider does not take the key ({status}); check `api_key`; trying \
                 again will not help",
                kind.as_str()
            )
        );
    }
}

#[tokio::test]
async fn a_busy_provider_says_when_to_come_back() {
    for kind in ProviderKind::ALL {
        check(
            kind,
            refuses(429, "retry-after: 7\r\n", r#"{"error":{"message":"Slow down"}}"#),
            "the provider takes no more for now (429 Too Many Requests): Slow down; trying again \
             in 7 s may help",
        )
        .await;
        check(
            kind,
            refuses(503, "", r#"{"error":"Overloaded"}"#),
            "the provider takes no more for now (503 Service Unavailable): Overloaded; trying \
             again may help",
        )
        .await;
        check(
            kind,
            refuses(500, "", "oops"),
            "the provider answered 500 Internal Server Error: oops; trying again may help",
        )
        .await;
        check(
            kind,
            refuses(404, "", r#"{"error":{"message":"no such model"}}"#),
            "the provider answered 404 Not Found: no such model; trying again will not help",
        )
        .await;
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_no_answer() {
    for kind in ProviderKind::ALL {
        let said = || "Once upon".to_owned();
        let cut = "the answer broke off before its end; trying again may help";
        check(kind, Answer::Cut(said()), cut).await;
        let told = match kind {
            ProviderKind::OpenAi => "Too much (server_error)",
            ProviderKind::Anthropic => "Too much (overloaded_error)",
            ProviderKind::Gemini => "Too much (UNAVAILABLE)",
            _ => "Too much",
        };
        check(
            kind,
            Answer::Fails(said(), "Too much".to_owned()),
            &format!("the provider broke off: {told}; trying again may help"),
        )
        .await;
        check(kind, Answer::Raw(String::new()), cut).await;
    }
    check(
        ProviderKind::Ollama,
        Answer::Raw("<html>\n".to_owned()),
        "the provider said something unreadable: expected a value (byte 0); trying again may help",
    )
    .await;
}

#[tokio::test]
async fn an_answer_that_is_withheld_cut_or_empty_is_a_failure() {
    for kind in ProviderKind::ALL {
        let ends = |ending| Answer::Ends("I ".to_owned(), ending);
        check(
            kind,
            ends(Ending::Length),
            "the answer was cut, it is longer than `max_tokens` (9); trying again will not help",
        )
        .await;
        check(
            kind,
            Answer::Says(Vec::new()),
            "the model gave an empty answer; trying again may help",
        )
        .await;
        let (filter, refusal) = match kind {
            ProviderKind::OpenAi => (
                "the provider holds the answer back: content_filter",
                "the model refuses to answer: I would rather not",
            ),
            ProviderKind::Anthropic => {
                ("the model refuses to answer: I", "the model refuses to answer: I")
            }
            ProviderKind::Gemini => (
                "the provider holds the answer back: SAFETY",
                "the provider holds the answer back: SAFETY",
            ),
            _ => continue,
        };
        for (ending, told) in [(Ending::Filter, filter), (Ending::Refusal, refusal)] {
            check(kind, ends(ending), &format!("{told}; trying again will not help")).await;
        }
    }
}

#[tokio::test]
async fn an_answer_has_a_limit_in_bytes_and_in_time() {
    for kind in ProviderKind::ALL {
        let long = vec!["x".repeat(400); 3];
        let provider =
            scripted::Provider::start([Answer::Says(long), Answer::Hangs("I".to_owned())]).await;
        let mut settings = Settings::default();
        settings.limits.answer_bytes = 1_000;
        settings.limits.time = Duration::from_millis(300);
        let desk = llm(kind, &provider, settings);
        let said = failure(&desk.ask("hello").await);
        assert!(said.contains("the answer has more than 1000 bytes"), "{kind:?}: {said}");
        let said = failure(&desk.ask("hello").await);
        assert!(said.contains("300ms"), "{kind:?}: {said}");
    }
}

#[tokio::test]
async fn a_provider_that_is_not_there_is_named() {
    let provider = scripted::Provider::start([]).await;
    let model = model(ProviderKind::Ollama, &provider);
    drop(provider);
    let said = failure(&Desk::hire(Llm::new(model, Settings::default())).ask("hello").await);
    assert_eq!(
        said,
        "ollama/m-1.5: connect to host `127.0.0.1` (check that the peer runs and that a route \
         leads there); trying again may help"
    );
}

#[tokio::test]
async fn a_cancel_ends_the_answer() {
    let provider = scripted::Provider::start([Answer::Hangs("I".to_owned())]).await;
    let desk = llm(ProviderKind::OpenAi, &provider, Settings::default());
    let id = desk.begin(Message::user("hello")).await;
    provider.asked(1).await;
    assert_eq!(desk.cancel(&id).await.status.state, TaskState::Canceled);
}
