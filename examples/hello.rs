//! The smallest agent: it greets whoever writes to it.
//!
//!     cargo run --example hello
//!     curl localhost:7420 -H 'A2A-Version: 1.0' -H 'Content-Type: application/json' -d '
//!       {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message":
//!         {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Ann"}]}}}'

use nuncio_server::{Agent, Error, Failure, Output, Server, Turn};

struct Hello;

impl Agent for Hello {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        output.text(format!("Hello, {}!", turn.message.text())).await?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let address = std::env::args().nth(1);
    Server::new("hello", Hello).serve(address.as_deref().unwrap_or("127.0.0.1:7420")).await
}
