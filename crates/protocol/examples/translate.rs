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
        let json_rpc = form.json_rpc("caller");
        let written = json_rpc.and_then(|form| form.write_call(&Id::number(1), &request).ok());
        if let Some(body) = written {
            println!("{}\n  POST {body}\n", form.name());
        }
        if let Some(call) = form.http().and_then(|form| form.write_call(&request).ok()) {
            let body = call.body.unwrap_or_default();
            println!("{}\n  {} {} {body}\n", form.name(), call.method, call.path);
        }
    }
    println!("Also gRPC, 1.0 and 0.3: see `cargo doc -p nuncio-protocol --all-features --open`.");
    Ok(())
}
