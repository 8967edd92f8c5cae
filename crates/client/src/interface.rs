//! One way to reach an agent.

use nuncio_net::CheckedUrl;
use nuncio_protocol::{dialect::WireForm, ids::Tenant};

/// One way to reach an agent: where, in which form, and as whom it is known there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Where it listens; for gRPC the origin.
    pub url: CheckedUrl,
    /// What is spoken there: binding and version, or a dialect.
    pub form: WireForm,
    /// The agent behind a shared endpoint.
    pub tenant: Option<Tenant>,
}
