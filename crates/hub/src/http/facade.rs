//! The seeds' own paths, each of which can be switched off (catalogue §7.5).
//!
//! A facade has no data and no rights of its own: it reads what a seed's programs send, asks the
//! same directory as the management API does, and answers in the seed's words.

mod claim;
mod molecule;
mod opportunity;
mod upal;

use axum::Router;

pub(crate) use self::molecule::{Tellers, tell_ended};
use crate::hub::Hub;

pub(super) fn molecule(carries: bool) -> Router<Hub> {
    if carries { molecule::router().merge(molecule::calls()) } else { molecule::router() }
}

pub(super) fn opportunity(carries: bool) -> Router<Hub> {
    if carries { opportunity::router().merge(opportunity::calls()) } else { opportunity::router() }
}

pub(super) fn upal() -> Router<Hub> {
    upal::router()
}
