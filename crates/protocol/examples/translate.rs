//! Shows one message in every wire form that Nuncio speaks.
//!
//! ```text
//! $ cargo run -p nuncio-protocol --example translate -- "add 2 and 3"
//! ```

#![expect(clippy::print_stdout, reason = "an example that prints")]

use nuncio_protocol::{
    dialect::WireForm,
    json::{Error, Object},
    jsonrpc::Id,
    message::Message,
    operation::{Request, SendMessageRequest},
};

fn main() -> Result<(), Error> {
    let text = std::env::args().nth(1).unwrap_or_else(|| "add 2 and 3".to_owned());
    let mut request = SendMessageRequest::new(Message::user(text));
    // The opportunity agents call a skill by its name; the other forms carry it along.
    request.metadata = Some(Object::parse_text(r#"{"skillId":"calculate"}"#)?);
    let request = Request::SendMessage(request);

    for form in WireForm::ALL {
        if let Some(json_rpc) = form.json_rpc("caller") {
            if let Ok(body) = json_rpc.write_call(&Id::number(1), &request) {
                println!("{}\n  POST {body}\n", form.name());
            }
        } else if let Some(http) = form.http() {
            if let Ok(call) = http.write_call(&request) {
                let body = call.body.unwrap_or_default();
                println!("{}\n  {} {} {body}\n", form.name(), call.method, call.path);
            }
        }
    }
    println!("Also gRPC, 1.0 and 0.3: see `cargo doc -p nuncio-protocol --all-features --open`.");
    Ok(())
}
