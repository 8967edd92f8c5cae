//! The same bad text is refused alike in every wire form (R17).

use nuncio_protocol::{
    dialect::WireForm,
    error::{Error, ErrorKind},
    http::HttpCall,
    json::{Object, Raw},
    jsonrpc::Id,
    message::{Message, Part, Role},
    operation::{Request, SendMessageRequest},
};

/// Texts no form accepts, where a value may stand, and what is said about each.
fn bad_values() -> Vec<(String, &'static str)> {
    vec![
        ("1e999".into(), "the number is out of range"),
        (r#""\ud800""#.into(), "a surrogate without its partner"),
        (r#"{"k":1,"k":2}"#.into(), "the key stands twice in its object"),
        (r#"{"k":1,"\u006b":2}"#.into(), "the key stands twice in its object"),
        ("[".repeat(1_000_000), "nested deeper than 128 levels"),
        (format!("{}{}", "[".repeat(128), "]".repeat(128)), "nested deeper than 128 levels"),
        ("-".into(), "expected a digit"),
        ("\"\u{1}\"".into(), "a control character must be escaped"),
        ("tru".into(), "expected a value"),
    ]
}

/// A request with a place in it for something bad.
fn request() -> Request {
    let data = Raw::parse_text(r#"{"place":"HERE"}"#).expect("strict JSON");
    let mut request = SendMessageRequest::new(Message::new(Role::User, Part::data(data)));
    let skill = Object::parse_text(r#"{"skillId":"s"}"#).expect("strict JSON");
    request.metadata = Some(skill);
    Request::SendMessage(request)
}

/// Reads what each form makes of the request, after `change` has been made to its text.
fn in_every_form(change: impl Fn(&str) -> String) -> Vec<(WireForm, Result<Request, Error>)> {
    let mut read = Vec::new();
    for &form in WireForm::ALL {
        if let Some(json_rpc) = form.json_rpc("a") {
            let body = json_rpc.write_call(&Id::number(1), &request()).expect("all forms send");
            let call = json_rpc.read_call(&change(&body));
            read.push((form, call.map(|call| call.request).map_err(|refusal| refusal.error)));
        }
        let http = form.http();
        // Molecule has no way to send but JSON-RPC.
        let sent = http.as_ref().and_then(|http| http.write_call(&request()).ok());
        if let (Some(http), Some(target)) = (http, sent) {
            let body = change(&target.body.expect("a message is sent in a body"));
            let path = target.path.as_str();
            let call = HttpCall { method: target.method, path, query: "", body: body.as_bytes() };
            read.push((form, http.read_call(&call)));
        }
    }
    assert_eq!(read.len(), 11, "every form of JSON takes part");
    read
}

#[test]
fn bad_values_get_the_same_words_and_the_path_everywhere() {
    for (value, what) in bad_values() {
        for (form, result) in in_every_form(|body| body.replace(r#""HERE""#, &value)) {
            let error = result.expect_err(form.name());
            assert_eq!(error.kind(), ErrorKind::Parse, "{}: {error}", form.name());
            assert!(error.message().contains(what), "{}: {error}", form.name());
            assert!(error.message().contains("place"), "{}: {error}", form.name());
        }
    }
}

#[test]
fn a_text_that_ends_early_is_refused_everywhere() {
    for (form, result) in in_every_form(|body| body[..body.len() - 1].to_owned()) {
        assert_eq!(result.expect_err(form.name()).kind(), ErrorKind::Parse, "{}", form.name());
    }
}

#[test]
fn a_good_request_is_accepted_everywhere() {
    for (form, result) in in_every_form(str::to_owned) {
        result.unwrap_or_else(|error| panic!("{}: {error}", form.name()));
    }
}
