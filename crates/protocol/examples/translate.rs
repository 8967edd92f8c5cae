//! Shows one message in every wire form that Nuncio speaks.
//!
//! ```text
//! $ cargo run -p nuncio-protocol --example translate -- "add 2 and 3"
//! ```

use std::{error::Error, fmt::Write as _, io::Write as _};

use nuncio_protocol::{
    dialect::WireForm,
    json::Object,
    jsonrpc::Id,
    message::Message,
    operation::{Request, SendMessageRequest},
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = String::new();
    let text = std::env::args().nth(1).unwrap_or_else(|| "add 2 and 3".to_owned());
    let mut request = SendMessageRequest::new(Message::user(text));
    // The opportunity agents call a skill by its name; the other forms carry it along.
    request.metadata = Some(Object::parse_text(r#"{"skillId":"calculate"}"#)?);
    let request = Request::SendMessage(request);

    for form in WireForm::ALL {
        let json_rpc = form.json_rpc("caller");
        let written = json_rpc.and_then(|form| form.write_call(&Id::number(1), &request).ok());
        if let Some(body) = written {
            writeln!(out, "{}\n  POST {body}\n", form.name())?;
        }
        if let Some(call) = form.http().and_then(|form| form.write_call(&request).ok()) {
            let body = call.body.unwrap_or_default();
            writeln!(out, "{}\n  {} {} {body}\n", form.name(), call.method, call.path)?;
        }
    }
    out.push_str("Also gRPC, 1.0 and 0.3: feature `grpc` of the crate.\n");
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(())
}
