//! The protocol from outside: one program, since each program costs a link.

mod bad_input;
mod card_forms;
mod card_legacy;
mod card_lint;
#[cfg(feature = "signing")]
mod card_sign;
#[cfg(feature = "signing")]
mod card_tamper;
#[cfg(all(feature = "grpc", feature = "signing"))]
mod corpus;
mod documents;
mod golden_cards;
mod golden_v1;
#[cfg(feature = "grpc")]
mod grpc_errors;
#[cfg(feature = "grpc")]
mod grpc_v03;
#[cfg(feature = "grpc")]
mod grpc_v1;
#[cfg(feature = "grpc")]
mod grpc_values;
#[cfg(feature = "grpc")]
mod losses_grpc;
mod losses_harbor;
mod losses_molecule;
mod losses_opportunity;
mod losses_pocketpaw;
mod losses_upal;
mod losses_v03;
mod losses_v03_http;
mod proto_json;
#[cfg(feature = "grpc")]
mod proto_numbers;
mod round_trip_v1;
mod service;

mod card_support;
mod forget;
#[cfg(feature = "grpc")]
mod grpc_v03_losses;
mod losses;
mod model;
#[cfg(feature = "grpc")]
mod open_json;
#[cfg(feature = "grpc")]
mod through_grpc;
mod walk;
