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

/// A2A 0.3 itself.
const OLDER: &[WireForm] = &[WireForm::V03, WireForm::V03Http, WireForm::V03Grpc];

const KNOWN: &[Difference] = &[
    Difference {
        label: "",
        forms: OLDER,
        case: "ListTasks",
        kind: Kind::Lacks,
        shows: "has no ListTasks",
        how: "A2A 0.3 has no ListTasks",
    },
    Difference {
        label: "Python 0.3.",
        forms: &[WireForm::V03Http],
        case: "push config list",
        kind: Kind::Lacks,
        shows: "unknown exception",
        how: "it does not list webhooks here",
    },
    Difference {
        label: "Python 0.3.",
        forms: &[WireForm::V03Http],
        case: "push config delete",
        kind: Kind::Lacks,
        shows: "405 Method Not Allowed",
        how: "it does not delete webhooks here",
    },
    Difference {
        label: "Python 0.3.",
        forms: &[WireForm::V03Grpc],
        case: "push config list",
        kind: Kind::Lacks,
        shows: "Method not implemented!",
        how: "it does not list webhooks here",
    },
    Difference {
        label: "Python 0.3.",
        forms: &[WireForm::V03Grpc],
        case: "push config delete",
        kind: Kind::Lacks,
        shows: "Method not implemented!",
        how: "it does not delete webhooks here",
    },
    Difference {
        label: "Python 0.3.",
        forms: OLDER,
        case: "what is kept beside SubscribeToTask",
        kind: Kind::Differs,
        shows: "the agent keeps `",
        how: "it keeps pieces twice while somebody is subscribed",
    },
    Difference {
        label: "JavaScript 0.3.",
        forms: &[WireForm::V03Http],
        case: "SubscribeToTask of an unknown task",
        kind: Kind::Differs,
        shows: "is refused with Internal",
        how: "it stumbles over its own error",
    },
    Difference {
        label: "JavaScript 0.3.",
        forms: &[WireForm::V03Grpc],
        case: "CancelTask of a finished task",
        kind: Kind::Differs,
        shows: "is refused with UnsupportedOperation",
        how: "its code alone does not say which of several errors it is",
    },
];
