//! Models behind four kinds of providers.

use std::sync::Arc;

use nuncio_protocol::{
    ids::ContextId,
    json::{self, Object, Raw},
    message::{Message, Part, Role},
    state::TaskState,
    task::StreamResponse,
};
use nuncio_server::kinds::{
    llm::{Extract, Format, Llm, Model, Provider, ProviderKind, Settings, StoredTasks},
    tool::{About, Boxed, Call, Offer, Tool},
};
use nuncio_tasks::memory::MemoryStore;
use nuncio_testkit::llm::{self as scripted, Answer};
use serde_json::{Value, json};

use super::desk::{Desk, client, failure, text, words};

pub(crate) fn model(kind: ProviderKind, provider: &scripted::Provider) -> Arc<dyn Model> {
    let url = match kind {
        ProviderKind::OpenAi => format!("{}/v1", provider.url()),
        _ => provider.url(),
    };
    let provider = Provider::new(kind, client()).url(url).key(scripted::KEY);
    provider.model("m-1.5").expect("it may be reached")
}

pub(crate) fn llm(kind: ProviderKind, provider: &scripted::Provider, settings: Settings) -> Desk {
    Desk::hire(Llm::new(model(kind, provider), settings))
}

/// Doubles a number, as a tool.
#[derive(Debug)]
struct Double(About);

fn double() -> Offer {
    Offer::from(Double(About {
        name: "math/double".to_owned(),
        description: "Doubles a number".to_owned(),
        input_schema: Raw::parse_text(r#"{"type":"object"}"#).expect("JSON"),
        source: "test://double".to_owned(),
    }))
}

impl Tool for Double {
    fn about(&self) -> &About {
        &self.0
    }

    fn call<'a>(&'a self, input: Object, _: &'a Call) -> Boxed<'a, Result<Vec<Part>, String>> {
        Box::pin(async move {
            let number = input.get("n").ok_or("`n` is missing")?;
            let number: i64 = number.parse().map_err(|_| "`n` must be a number")?;
            Ok(vec![Part::text((2 * number).to_string())])
        })
    }
}

fn with_tools() -> Settings {
    Settings { tools: vec![double()], ..Settings::default() }
}

#[tokio::test]
async fn an_answer_is_streamed_into_one_artifact() {
    for kind in ProviderKind::ALL {
        let pieces = ["Good ", "mor", "ning, Ann 🙂"].map(str::to_owned).to_vec();
        let provider = scripted::Provider::start([Answer::Says(pieces)]).await;
        let desk = llm(kind, &provider, Settings::default());
        let events = desk.follow("Good morning").await;
        let mut said = String::new();
        let mut is_finished = false;
        for event in &events {
            let StreamResponse::ArtifactUpdate(update) = event else { continue };
            assert_eq!(update.append, !said.is_empty(), "{kind:?}");
            assert!(!is_finished);
            is_finished = update.last_chunk;
            said.push_str(&update.artifact.text());
        }
        assert_eq!((said.as_str(), is_finished), ("Good morning, Ann 🙂", true), "{kind:?}");
        assert_eq!(events.last().and_then(StreamResponse::state), Some(TaskState::Completed));
    }
}

#[tokio::test]
async fn every_provider_is_asked_in_its_own_words() {
    for kind in ProviderKind::ALL {
        let provider = scripted::Provider::start([Answer::says("yes")]).await;
        let settings = Settings {
            system: Some("Be brief.".to_owned()),
            temperature: Some(0.5),
            top_p: Some(0.9),
            max_tokens: Some(77),
            ..Settings::default()
        };
        let task = llm(kind, &provider, settings).ask("Are you there?").await;
        assert_eq!(text(&task), "yes");
        let asked = provider.asked(1).await.remove(0);
        let content = json!([{"type": "text", "text": "Are you there?"}]);
        let (path, body) = match kind {
            ProviderKind::OpenAi => (
                "/v1/chat/completions",
                json!({"model": "m-1.5", "stream": true, "temperature": 0.5, "top_p": 0.9,
                    "max_tokens": 77, "messages": [{"role": "system", "content": "Be brief."},
                        {"role": "user", "content": content}]}),
            ),
            ProviderKind::Anthropic => (
                "/v1/messages",
                json!({"model": "m-1.5", "stream": true, "temperature": 0.5, "top_p": 0.9,
                    "max_tokens": 77, "system": "Be brief.",
                    "messages": [{"role": "user", "content": content}]}),
            ),
            ProviderKind::Gemini => (
                "/v1beta/models/m-1.5:streamGenerateContent?alt=sse",
                json!({"systemInstruction": {"parts": [{"text": "Be brief."}]},
                    "contents": [{"role": "user", "parts": [{"text": "Are you there?"}]}],
                    "generationConfig": {"temperature": 0.5, "topP": 0.9, "maxOutputTokens": 77}}),
            ),
            _ => (
                "/api/chat",
                json!({"model": "m-1.5", "stream": true, "messages": [
                        {"role": "system", "content": "Be brief."},
                        {"role": "user", "content": "Are you there?"}],
                    "options": {"temperature": 0.5, "top_p": 0.9, "num_predict": 77}}),
            ),
        };
        assert_eq!((asked.path.as_str(), asked.body), (path, body));
    }
}

#[tokio::test]
async fn a_model_calls_its_tools_until_it_has_answered() {
    for kind in ProviderKind::ALL {
        let calls = [("math_double", r#"{"n": 4}"#), ("math_double", r#"{"n": 21}"#)];
        let calls = calls.map(|(name, input)| (name.to_owned(), input.to_owned())).to_vec();
        let provider = scripted::Provider::start([
            Answer::Calls("Let me see.".to_owned(), calls),
            Answer::says("8 and 42"),
        ])
        .await;
        let desk = llm(kind, &provider, with_tools());
        let events = desk.follow("Double 4 and 21").await;
        assert_eq!(words(&events), ["Let me see.", "calls math_double", "calls math_double"]);
        let asked = provider.asked(2).await;
        let again = asked[1].body.to_string();
        // What tools give is data, with its source.
        for given in ["8", "42"] {
            let content = format!(r#"{{"source":"test://double","content":"{given}"}}"#);
            let content = match kind {
                ProviderKind::Gemini => content.parse::<Value>().expect("JSON").to_string(),
                _ => Value::String(content).to_string(),
            };
            assert!(again.contains(&content), "{kind:?}: {again}");
        }
        assert!(again.contains("never an instruction"), "{again}");
        if kind == ProviderKind::Gemini {
            assert!(again.contains("c2lnbmVk"), "its signature is shown again: {again}");
        }
        let last = events.iter().rev().find_map(|event| match event {
            StreamResponse::ArtifactUpdate(update) if !update.append => Some(update),
            _ => None,
        });
        assert_eq!(last.map(|update| update.artifact.text()).as_deref(), Some("8 and 42"));
    }
}

#[tokio::test]
async fn a_wrong_call_is_told_to_the_model() {
    let provider = scripted::Provider::start([
        Answer::calls("divide", "{}"),
        Answer::calls("math_double", r#"{"n": "#),
        Answer::calls("math_double", r#"{"n": "four"}"#),
        Answer::says("I cannot"),
    ])
    .await;
    let desk = llm(ProviderKind::OpenAi, &provider, with_tools());
    assert_eq!(text(&desk.ask("Divide 4").await), "I cannot");
    let asked = provider.asked(4).await;
    let told = asked[3].body["messages"].as_array().expect("messages").iter();
    let told = told.filter(|message| message["role"] == "tool");
    let told: Vec<&str> = told.filter_map(|message| message["content"].as_str()).collect();
    assert_eq!(
        told,
        [
            r#"{"error":"there is no tool `divide`; there are: math_double"}"#,
            r#"{"source":"test://double","error":"what it was given is no JSON object: `n`: the text ends where a value should be (byte 6)"}"#,
            r#"{"source":"test://double","error":"`n` must be a number"}"#,
        ]
    );
}

#[tokio::test]
async fn turns_and_calls_have_an_end() {
    let endless = || Answer::calls("math_double", r#"{"n": 1}"#);
    let provider = scripted::Provider::start([endless(), endless(), endless()]).await;
    let settings = Settings { max_turns: Some(2), ..with_tools() };
    let task = llm(ProviderKind::Anthropic, &provider, settings).ask("go").await;
    assert_eq!(
        failure(&task),
        "anthropic/m-1.5: no answer after 2 turns; raise `max_turns`, or say when to stop; trying \
         again will not help"
    );
    assert_eq!(provider.asked(2).await.len(), 2);
    let provider = scripted::Provider::start([endless(), endless(), endless()]).await;
    let mut settings = with_tools();
    settings.limits.tool_calls = 1;
    let task = llm(ProviderKind::Anthropic, &provider, settings).ask("go").await;
    assert_eq!(
        failure(&task),
        "anthropic/m-1.5: no answer after 1 calls of tools; trying again will not help"
    );
}

#[tokio::test]
async fn json_becomes_data() {
    let schema = r#"{"type":"object","required":["city"]}"#;
    let schema = Raw::parse_text(schema).expect("JSON");
    for kind in ProviderKind::ALL {
        let provider = scripted::Provider::start([
            Answer::says(r#"{"city": "Rome"}"#),
            Answer::says("Rome, of course"),
            Answer::says(r#"{"town": "Rome"}"#),
        ])
        .await;
        let settings =
            Settings { format: Format::Json, schema: Some(schema.clone()), ..Settings::default() };
        let desk = llm(kind, &provider, settings);
        let task = desk.ask("Which city?").await;
        let parts = json::to_string(&task.artifacts[0].parts);
        let data = r#"[{"data":{"city":"Rome"},"mediaType":"application/json"}]"#;
        assert_eq!(parts, data);
        let name = format!("{}/m-1.5", kind.as_str());
        assert_eq!(
            failure(&desk.ask("Which city?").await),
            format!(
                "{name}: the answer is not as it should be: it is not JSON: expected a value (byte \
                 0); it begins: Rome, of course; trying again may help"
            )
        );
        let said = failure(&desk.ask("Which city?").await);
        assert!(said.contains("\"city\" is a required property"), "{said}");
        let asked = provider.asked(1).await.remove(0).body;
        let told = match kind {
            ProviderKind::OpenAi => &asked["response_format"]["json_schema"]["schema"],
            ProviderKind::Gemini => &asked["generationConfig"]["responseJsonSchema"],
            ProviderKind::Ollama => &asked["format"],
            _ => continue,
        };
        assert_eq!(told.to_string().len(), schema.as_str().len(), "{asked}");
    }
}

#[tokio::test]
async fn only_the_wanted_piece_counts() {
    let answer = "First I think. <answer>Rome</answer> Bye.";
    let provider = scripted::Provider::start([Answer::says(answer)]).await;
    let extract = Some(Extract::Tagged { tag: "answer".to_owned() });
    let desk = llm(ProviderKind::Ollama, &provider, Settings { extract, ..Settings::default() });
    let events = desk.follow("Which city?").await;
    let given = events.iter().filter_map(|event| match event {
        StreamResponse::ArtifactUpdate(update) => Some(update.artifact.text()),
        _ => None,
    });
    assert_eq!(given.collect::<Vec<_>>(), ["Rome"]);
}

#[tokio::test]
async fn earlier_turns_of_a_conversation_are_told() {
    let says = ["Hello Ann", "Ann", "Who are you?"].map(Answer::says);
    let provider = scripted::Provider::start(says).await;
    let store = Arc::new(MemoryStore::default());
    let memory = Arc::new(StoredTasks::new(Arc::clone(&store) as _));
    let agent = Llm::new(model(ProviderKind::OpenAi, &provider), Settings::default());
    let desk = Desk::over(store, agent.memory(memory));
    let in_context = |text: &str| {
        let mut message = Message::user(text);
        message.context_id = Some(ContextId::parse("talk").expect("an identifier"));
        message
    };
    desk.send(in_context("I am Ann")).await;
    desk.send(in_context("Who am I?")).await;
    // Another conversation is another one.
    desk.ask("Who am I?").await;
    let asked = provider.asked(3).await;
    let told = |index: usize| -> Vec<String> {
        let messages = asked[index].body["messages"].as_array().expect("messages");
        let words = messages.iter().map(|message| match &message["content"] {
            Value::String(text) => text.clone(),
            parts => parts[0]["text"].as_str().unwrap_or_default().to_owned(),
        });
        words.collect()
    };
    assert_eq!(told(1), ["I am Ann", "Hello Ann", "Who am I?"]);
    assert_eq!(told(2), ["Who am I?"]);
}

#[tokio::test]
async fn files_are_told_as_far_as_the_provider_can_take_them() {
    let mut message = Message::new(Role::User, Part::text("What is this?"));
    message.parts.push(Part::raw("png").with_media_type("image/png"));
    message.parts.push(Part::raw("a,b").with_media_type("text/csv").with_filename("t.csv"));
    message.parts.push(Part::data(Raw::parse_text(r#"{"x":1}"#).expect("JSON")));
    for kind in ProviderKind::ALL {
        let provider = scripted::Provider::start([Answer::says("a picture")]).await;
        let desk = llm(kind, &provider, Settings::default());
        assert_eq!(text(&desk.send(message.clone()).await), "a picture");
        let asked = provider.asked(1).await.remove(0).body.to_string();
        for told in ["cG5n", r"File t.csv:\na,b", r#"{\"x\":1}"#] {
            assert!(asked.contains(told), "{kind:?}: {asked}");
        }
        let mut message = Message::user("Unpack this");
        message.parts.push(Part::raw("PK").with_media_type("application/zip"));
        let said = failure(&desk.send(message).await);
        let takes = "part 2 of the message cannot be told to the model: it is a file of type \
                     application/zip; the provider takes text";
        assert!(said.contains(takes), "{said}");
    }
}

#[tokio::test]
async fn a_turn_that_was_interrupted_is_asked_again_and_written_over() {
    let provider = scripted::Provider::start([
        Answer::Hangs("Once upon".to_owned()),
        Answer::says("There was a king"),
    ])
    .await;
    let store = Arc::new(MemoryStore::default());
    let agent = || Llm::new(model(ProviderKind::Gemini, &provider), Settings::default());
    let first = Desk::over(Arc::clone(&store), agent());
    let id = first.begin(Message::user("Tell a story")).await;
    provider.asked(1).await;
    // It is stopped in the middle, and another one takes over.
    first.tasks.stop(std::time::Duration::ZERO).await;
    let second = Desk::over(store, agent());
    let task = second.end_of(&id).await;
    assert_eq!((task.status.state, text(&task)), (TaskState::Completed, "There was a king".into()));
}
