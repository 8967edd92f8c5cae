//! `nuncio login`: a link that lets a browser in.

use clap::Args;
use http::Method;
use serde::Deserialize;

use super::{Flags, json, parse};
use crate::failure::Failure;

/// Print a link that lets a browser into the hub, once.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    flags: Flags,
}

#[derive(Deserialize)]
struct Link {
    url: String,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let hub = arguments.flags.hub()?;
    let mut output = arguments.flags.output();
    let bytes = hub.call(Method::POST, "/api/v1/login", None::<&()>).await?;
    if output.is_json() {
        return json(&mut output, &bytes);
    }
    let Link { url } = parse(&bytes)?;
    Ok(output.line(&url)?)
}
