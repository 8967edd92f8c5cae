//! A task as it goes on.

use std::time::Duration;

use http::StatusCode;
use nuncio_net::sse::{Decoder, Limits};
use tokio::time::sleep;

use super::{event::Told, path};
use crate::{
    failure::Failure,
    hub::{Hub, json, parse, query},
    output::Output,
};

/// How often a lost connection is made anew without any news, and how long to wait before.
const MOST_LOST: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// Follows a task until it ends. A lost connection goes on behind the last event.
pub(super) async fn run(
    hub: &Hub,
    task: &str,
    after: Option<u64>,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut seen = after.unwrap_or_default();
    let mut lost = 0;
    loop {
        let before = seen;
        let ended = follow(hub, task, &mut seen, output).await;
        if seen > before {
            lost = 0;
        }
        let failure = match ended {
            Ok(true) => return Ok(()),
            Ok(false) => Failure::lost("the hub ended the stream before the task ended"),
            Err(failure) => failure,
        };
        // Later it would be refused again.
        if failure.is_hub_refusal() {
            return Err(failure);
        }
        if lost >= MOST_LOST || !failure.is_unreachable() {
            let later = format!("go on later: nuncio tasks watch {task} --after {seen}");
            return Err(failure.hint(later));
        }
        lost += 1;
        sleep(PAUSE).await;
    }
}

/// Follows a task for as long as the connection lasts. `true` if the task has ended.
async fn follow(
    hub: &Hub,
    task: &str,
    seen: &mut u64,
    output: &mut Output,
) -> Result<bool, Failure> {
    let query = query(&[("after", Some(seen.to_string()))]);
    let response = hub.follow(&format!("{}/events{query}", path(task))).await?;
    if response.status() == StatusCode::NO_CONTENT {
        return Ok(true);
    }
    let mut body = response.into_body();
    let mut decoder = Decoder::new(Limits::default());
    while let Some(chunk) = body.chunk().await.map_err(|error| Failure::net(&error))? {
        decoder.push(chunk);
        while let Some(event) =
            decoder.next_event().map_err(|error| Failure::internal(error.to_string()))?
        {
            let told: Told = parse(&event.data)?;
            *seen = told.seq;
            if output.is_json() {
                json(output, &event.data)?;
            } else {
                told.show(output)?;
            }
            if told.is_last() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
