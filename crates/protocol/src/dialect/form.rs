//! The list of all forms, and the reader and writer of each.

use super::{
    harbor::Harbor,
    molecule::{Molecule, MoleculeHttp},
    opportunity::Opportunity,
    pocketpaw::{PocketPaw, PocketPawHttp},
    upal::Upal,
    v02::V02,
    v03::V03,
    v03_http::V03Http,
};
use crate::{
    http::{HttpForm, V1Http},
    wire::{JsonRpcForm, V1},
};

/// A way in which requests and answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WireForm {
    /// A2A 1.0 on JSON-RPC.
    V1,
    /// A2A 1.0 on HTTP+JSON.
    V1Http,
    /// A2A 1.0 on gRPC.
    V1Grpc,
    /// A2A 0.3 on JSON-RPC.
    V03,
    /// A2A 0.3 on HTTP+JSON.
    V03Http,
    /// A2A 0.3 on gRPC.
    V03Grpc,
    /// A2A 0.2.x on JSON-RPC, for peers that a card says to be so old. Their requests look like
    /// those of 0.3 and are read as such.
    V02,
    /// Molecule on JSON-RPC.
    Molecule,
    /// Molecule's status check, `GET /tasks/{id}`.
    MoleculeHttp,
    /// Harbor on JSON-RPC.
    Harbor,
    /// The capability envelope of the opportunity agents.
    Opportunity,
    /// Upal on JSON-RPC.
    Upal,
    /// `PocketPaw` on JSON-RPC.
    PocketPaw,
    /// The HTTP routes of `PocketPaw`.
    PocketPawHttp,
}

impl WireForm {
    /// Every form.
    pub const ALL: &[Self] = &[
        Self::V1,
        Self::V1Http,
        Self::V1Grpc,
        Self::V03,
        Self::V03Http,
        Self::V03Grpc,
        Self::V02,
        Self::Molecule,
        Self::MoleculeHttp,
        Self::Harbor,
        Self::Opportunity,
        Self::Upal,
        Self::PocketPaw,
        Self::PocketPawHttp,
    ];

    /// Returns a name for people, logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1 => "A2A 1.0 JSON-RPC",
            Self::V1Http => "A2A 1.0 HTTP+JSON",
            Self::V1Grpc => "A2A 1.0 gRPC",
            Self::V03 => "A2A 0.3 JSON-RPC",
            Self::V03Http => "A2A 0.3 HTTP+JSON",
            Self::V03Grpc => "A2A 0.3 gRPC",
            Self::V02 => "A2A 0.2 JSON-RPC",
            Self::Molecule => "molecule JSON-RPC",
            Self::MoleculeHttp => "molecule HTTP",
            Self::Harbor => "Harbor JSON-RPC",
            Self::Opportunity => "opportunity envelope",
            Self::Upal => "Upal JSON-RPC",
            Self::PocketPaw => "PocketPaw JSON-RPC",
            Self::PocketPawHttp => "PocketPaw HTTP",
        }
    }

    /// Returns the reader and writer of a form in which every call is one JSON document. The
    /// agent is the one of ours that speaks; the capability envelope names it.
    pub fn json_rpc(self, agent: &str) -> Option<Box<dyn JsonRpcForm>> {
        Some(match self {
            Self::V1 => Box::new(V1),
            Self::V03 => Box::new(V03),
            Self::V02 => Box::new(V02),
            Self::Molecule => Box::new(Molecule::default()),
            Self::Harbor => Box::new(Harbor),
            Self::Opportunity => Box::new(Opportunity { agent_id: agent.to_owned() }),
            Self::Upal => Box::new(Upal),
            Self::PocketPaw => Box::new(PocketPaw),
            Self::V1Http
            | Self::V1Grpc
            | Self::V03Http
            | Self::V03Grpc
            | Self::MoleculeHttp
            | Self::PocketPawHttp => return None,
        })
    }

    /// Returns the reader and writer of a form in which method and path speak too.
    pub fn http(self) -> Option<Box<dyn HttpForm>> {
        Some(match self {
            Self::V1Http => Box::new(V1Http::default()),
            Self::V03Http => Box::new(V03Http),
            Self::MoleculeHttp => Box::new(MoleculeHttp::default()),
            Self::PocketPawHttp => Box::new(PocketPawHttp),
            _ => return None,
        })
    }
}
