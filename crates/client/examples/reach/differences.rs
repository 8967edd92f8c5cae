//! Where an SDK does otherwise than A2A says.

use nuncio_protocol::dialect::WireForm;

/// A case of which something else comes, and what.
#[derive(Debug)]
pub(crate) struct Difference {
    /// How the labels of the agents begin.
    label: &'static str,
    forms: &'static [WireForm],
    case: &'static str,
    pub(crate) kind: Kind,
    /// What the problem of the case must say.
    pub(crate) shows: &'static str,
    pub(crate) how: &'static str,
}

/// Whether something is not there, or there and otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Lacks,
    Differs,
}

impl Difference {
    /// Returns what is known about a case.
    pub(crate) fn known(label: &str, form: WireForm, case: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|one| {
            label.starts_with(one.label) && one.forms.contains(&form) && one.case == case
        })
    }
}

const KNOWN: &[Difference] = &[];
