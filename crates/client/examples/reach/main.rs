//! Calls an agent that somebody else's SDK serves:
//! `reach URL [--name LABEL] [--peer PEER] [--sdk VERSION] [--way WAY]`.
//!
//! Finds the agent by its card, and on each interface that the card declares does everything
//! that A2A has. One line for each interface says how many cases passed, and how many the
//! agent's SDK does not have; ends with failure if one did not pass. The last three flags say
//! who it is in the matrix: what came of it is added to the file that `NUNCIO_INTEROP_REPORT`
//! names, as `interop/python/matrix/report.py` says. `interop/reach` starts the agents.

mod differences;
mod proxy;
mod report;
mod streams;
mod target;
mod tasks;

use std::{env, process::ExitCode};

use nuncio_client::{
    Client, Find, Origin,
    discover::{Ask, Source},
    negotiate::Terms,
};
use nuncio_net::{Client as NetClient, Errand, Guard, Policy, Purpose, Trust};
use nuncio_protocol::card::{AgentCard, AgentInterface};

use crate::{
    report::{Report, Row},
    target::Target,
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let mut arguments = env::args().skip(1);
    let url = arguments.next().ok_or("usage: reach URL [--name LABEL]")?;
    let mut label = url.clone();
    let mut row = Row::default();
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next()) {
            ("--name", Some(name)) => label = name,
            ("--peer", Some(peer)) => row.peer = peer,
            ("--sdk", Some(version)) => row.sdk = version,
            ("--way", Some(way)) => row.way = way,
            _ => return Err(format!("what is `{argument}`?").into()),
        }
    }
    let mut policy = Policy::default();
    for purpose in [Purpose::Card, Purpose::Agent] {
        let here = "127.0.0.0/8".parse()?;
        policy = policy.open(purpose, here).allow_http(Errand::administrator(purpose));
    }
    let client = Client::new(NetClient::new(Guard::new(policy)));
    let ask = Ask::new(Source::parse(&url)?, Trust::Administrator);
    let card = client.agent(Find::new(ask.clone())).await?.card();
    let mut has_failed = false;
    for declared in distinct(&card) {
        let find = Find::new(ask.clone()).terms(terms(&card, declared));
        let agent = client.agent(find).await?;
        let target = Target::new(client.net().clone(), agent)?;
        let mut report = Report::new(&label, target.form());
        tasks::check(&target, &mut report).await;
        streams::check(&target, &mut report).await;
        has_failed |= report.tell();
        report.write(&row)?;
    }
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Returns what the card declares, once: cards of 0.3 name the best interface twice.
fn distinct(card: &AgentCard) -> Vec<&AgentInterface> {
    let mut found: Vec<&AgentInterface> = Vec::new();
    for declared in &card.supported_interfaces {
        if !found.iter().any(|one| one.binding() == declared.binding()) {
            found.push(declared);
        }
    }
    found
}

/// Wants one binding only, and lets the card name other ports of this machine.
fn terms(card: &AgentCard, declared: &AgentInterface) -> Terms {
    let mut terms = Terms::default().bindings([declared.binding()]);
    for AgentInterface { url, .. } in &card.supported_interfaces {
        let url = if url.contains("://") { url.clone() } else { format!("http://{url}") };
        if let Some(origin) = Origin::parse(&url).ok().filter(Origin::is_loopback) {
            terms = terms.allow_origin(origin);
        }
    }
    terms
}
