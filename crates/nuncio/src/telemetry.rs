//! What the program tells about itself: log lines and traces. What it counts is in
//! [`nuncio_hub::metrics`].
//!
//! [`Telemetry::start`] sets both up for the whole process, as the configuration says; libraries
//! speak through `tracing` and know nothing of it.
//!
//! Invariant: neither message text nor secrets leave here. Traces carry spans of our own crates
//! with the fields that [`trace::http_span`] and [`nuncio_hub::access::span`] have; log events
//! are never exported.
//!
//! `docs/reference/telemetry.md` lists fields and spans.

mod lines;
mod otlp;
pub mod trace;

use std::io::{self, IsTerminal as _, Write};

use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::task::spawn_blocking;
use tracing::{Dispatch, Subscriber};
use tracing_subscriber::{
    EnvFilter, Layer, Registry, filter::filter_fn, layer::SubscriberExt as _, registry::LookupSpan,
    reload,
};

use self::lines::Lines;
pub use self::{lines::Format, otlp::Error as OtlpError};
use crate::configuration::{Level, LogFormat, Telemetry as Configured};

/// The running telemetry. Its level can change; when it is stopped, what is left is sent.
#[derive(Debug)]
pub struct Telemetry {
    filter: reload::Handle<EnvFilter, Registry>,
    calls: Calls,
    traces: Option<SdkTracerProvider>,
}

/// Whether every call leaves a line at the usual level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// It does.
    Shown,
    /// Not on a terminal, where a person tries things out between the lines.
    HiddenOnTerminal,
}

/// Why telemetry cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Traces cannot be sent.
    #[error("telemetry.otlp")]
    Otlp(#[from] OtlpError),
    /// Somebody has set up logs already.
    #[error("logs are set up already")]
    Twice,
}

impl Telemetry {
    /// Starts telemetry for the whole process; log lines go to standard error. Needs a runtime.
    pub fn start(configured: &Configured, calls: Calls) -> Result<Self, Error> {
        let is_terminal = io::stderr().is_terminal();
        let format = match configured.format {
            LogFormat::Text => Format::Text,
            LogFormat::Auto if is_terminal => Format::Text,
            LogFormat::Json | LogFormat::Auto => Format::Json,
        };
        let (mut telemetry, dispatch) = Self::build(configured, format, io::stderr())?;
        if is_terminal {
            telemetry.calls = calls;
            telemetry.set_level(configured);
        }
        tracing::dispatcher::set_global_default(dispatch).map_err(|_| Error::Twice)?;
        Ok(telemetry)
    }

    /// Makes telemetry that writes its lines elsewhere, for whoever sets it up itself.
    pub fn build(
        configured: &Configured,
        format: Format,
        target: impl Write + Send + 'static,
    ) -> Result<(Self, Dispatch), Error> {
        let (filter, handle) = reload::Layer::new(filter(configured, Calls::Shown));
        let traces = configured.otlp.as_ref().map(otlp::provider).transpose()?;
        let exported = traces.as_ref().map(|provider| {
            otlp::layer(provider).with_filter(filter_fn(|metadata| {
                // Events may hold anything, and spans of the HTTP stack would trace themselves.
                metadata.is_span() && metadata.target().starts_with("nuncio")
            }))
        });
        let subscriber =
            Registry::default().with(Lines::new(format, target).with_filter(filter)).with(exported);
        Ok((Self { filter: handle, calls: Calls::Shown, traces }, Dispatch::new(subscriber)))
    }

    /// Logs as much as a new configuration says, from now on.
    pub fn set_level(&self, configured: &Configured) {
        // It fails only when the subscriber is gone, and then nobody logs.
        let _ = self.filter.reload(filter(configured, self.calls));
    }

    /// Sends what is left of the traces, for as long as the collector's timeout.
    pub async fn stop(self) {
        let Some(traces) = self.traces else { return };
        // It waits for its own thread, and that for this runtime.
        let stopped = spawn_blocking(move || traces.shutdown()).await;
        if !matches!(stopped, Ok(Ok(()))) {
            tracing::warn!("traces could not be sent in the end");
        }
    }
}

/// Returns a filter for the levels of a configuration.
fn filter(configured: &Configured, calls: Calls) -> EnvFilter {
    let named = configured.levels.iter().filter(|(name, _)| is_target(name));
    let named = named.map(|(name, level)| format!(",{name}={}", level.as_str()));
    // The library behind `/mcp` speaks of every request; what matters of them, the hub says.
    let quiet = match (configured.level, calls) {
        (Level::Info, Calls::Shown) => ",rmcp=warn",
        (Level::Info, Calls::HiddenOnTerminal) => ",rmcp=warn,nuncio::a2a=warn",
        _ => "",
    };
    let directives = configured.level.as_str().to_owned() + quiet + &named.collect::<String>();
    // What cannot be read is left out.
    EnvFilter::builder().parse_lossy(directives)
}

/// Tells whether a name is one of a crate or module. A filter has a language of its own.
fn is_target(name: &str) -> bool {
    let is_fit = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | ':');
    !name.is_empty() && name.chars().all(is_fit)
}

/// What our layers need of a subscriber.
trait Spans: Subscriber + for<'a> LookupSpan<'a> {}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Spans for S {}

#[cfg(test)]
mod tests;
