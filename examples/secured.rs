//! An agent for callers who prove who they are: by an API key, or by a token of an issuer.
//!
//!     cargo run --example secured
//!     curl localhost:7420 -H 'A2A-Version: 1.0' -H "X-API-Key: $KEY" -H 'Content-Type: application/json' -d '
//!       {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message":
//!         {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "who am I?"}]}}}'
//!
//! It prints a key for `ann`, once; only a hash of it is kept. With `ISSUER`, `AUDIENCE` and
//! `JWKS` (a file with the issuer's public keys) it takes that issuer's tokens, too, as
//! `Authorization: Bearer …`. Callers see their own tasks and nobody else's; those whom it knows
//! get the extended card.

use std::env;

use nuncio_auth::{ApiKey, ApiKeys, Gatekeeper, JwtIssuer};
use nuncio_protocol::{
    card::{AgentCard, AgentSkill, sign::KeySet},
    json,
};
use nuncio_server::{Agent, Failure, Output, Server, Turn};

struct WhoAmI;

impl Agent for WhoAmI {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        output.text(format!("You are {}.", turn.place.caller)).await?;
        Ok(())
    }
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "the key is shown this once")]
async fn main() -> anyhow::Result<()> {
    let (key, record) = ApiKey::generate("ann");
    eprintln!("API key of ann: {key}");
    let mut callers = Gatekeeper::builder().api_keys(ApiKeys::from_iter([record]));
    if let Ok(issuer) = env::var("ISSUER") {
        let keys: KeySet = json::from_slice(&std::fs::read(env::var("JWKS")?)?)?;
        callers = callers.jwt(JwtIssuer::with_keys(issuer, env::var("AUDIENCE")?, keys));
    }

    let card = AgentCard::builder("who-am-i")
        .description("Tells you who you are")
        .skill(AgentSkill::new("tell", "Tell", "Tells you who you are", ["identity"]))
        .streaming();
    let secret = AgentSkill::new("secret", "Secret", "Only known callers know of it", ["secret"]);
    let address = env::args().nth(1);
    Server::new("who-am-i", WhoAmI)
        .card(card.clone().build())
        .extended_card(card.skill(secret).build())
        .gatekeeper(callers.build()?)
        .sign()?
        .serve(address.as_deref().unwrap_or("127.0.0.1:7420"))
        .await?;
    Ok(())
}
