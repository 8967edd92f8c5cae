//! What goes wrong, and when.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use nuncio_protocol::operation::Operation;
use serde::{Deserialize, Deserializer, de::Error as _};

use super::pause::Pause;

/// Something that goes wrong. `docs/guides/mock.md` says what each member does.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "Fields")]
pub(super) struct Fault {
    on: Option<On>,
    first: Option<u32>,
    every: Option<u32>,
    errors_only: bool,
    pub(super) card: Option<CardFault>,
    pub(super) does: Effect,
}

/// What is different on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are the keys of the file")]
pub(super) struct Effect {
    // Before the agent hears of it.
    pub(super) delay: Option<Pause>,
    pub(super) status: Option<u16>,
    pub(super) retry_after: Option<Pause>,
    pub(super) ignore_version: bool,
    // In its answer.
    pub(super) garbage: Option<String>,
    pub(super) answer_status: Option<u16>,
    pub(super) content_type: Option<String>,
    pub(super) wrong_id: bool,
    pub(super) error_shape: Option<ErrorShape>,
    pub(super) shapes: Option<Shapes>,
    pub(super) silence: bool,
    pub(super) endless: bool,
    pub(super) cut_after_bytes: Option<usize>,
    // In its streams.
    pub(super) cut_after_events: Option<usize>,
    pub(super) silence_after_events: Option<usize>,
    pub(super) garbage_event: Option<usize>,
    pub(super) drop_first_event: bool,
    pub(super) drop_terminal_event: bool,
    pub(super) never_end: bool,
}

/// How an error looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ErrorShape {
    /// Its text alone.
    String,
    /// An object without `code`.
    NoCode,
}

/// How answers to calls of 1.0 look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum Shapes {
    #[serde(rename = "0.3")]
    V03,
}

/// What is wrong with the card.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CardFault {
    /// The URL of every interface.
    pub(super) url: Option<String>,
    /// The version of every interface.
    pub(super) wrong_version: Option<String>,
    /// What it says it can do and cannot.
    pub(super) claims: Vec<Claim>,
    pub(super) signature: Option<Signature>,
    /// Members that it lacks.
    pub(super) missing: Vec<String>,
    /// The whole text.
    pub(super) raw: Option<String>,
    pub(super) not_json: bool,
    /// More than anybody should read.
    pub(super) huge: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Claim {
    Streaming,
    PushNotifications,
    ExtendedAgentCard,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Signature {
    /// Changed after it was signed.
    Bad,
    /// Not signed, whatever the card says.
    None,
}

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    Card,
    Operation(Operation),
}

impl<'de> Deserialize<'de> for On {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "card" {
            return Ok(Self::Card);
        }
        Operation::from_name(&text).map(Self::Operation).ok_or_else(|| {
            let known: Vec<&str> = Operation::NAMES.iter().map(|(_, name)| *name).collect();
            let known = known.join(", ");
            D::Error::custom(format!("nothing is called `{text}`; there are card, {known}"))
        })
    }
}

/// The faults of a server, and how often each could have happened.
#[derive(Debug)]
pub(super) struct Faults(Vec<(Arc<Fault>, AtomicU32)>);

/// When a fault is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// A request has come.
    Request,
    /// The answer is an error.
    Error,
}

impl Faults {
    pub(super) fn new(faults: &[Fault]) -> Self {
        let wire = faults.iter().filter(|fault| fault.card.is_none());
        Self(wire.map(|fault| (Arc::new(fault.clone()), AtomicU32::new(0))).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns what goes wrong this time.
    pub(super) fn happening(&self, on: Option<On>, moment: Moment) -> Plan {
        let happening = self.0.iter().filter(|(fault, count)| {
            fault.is_about(on, moment)
                && fault.is_due(count.fetch_add(1, Ordering::Relaxed).wrapping_add(1))
        });
        Plan(happening.map(|(fault, _)| Arc::clone(fault)).collect())
    }
}

impl Fault {
    fn is_about(&self, on: Option<On>, moment: Moment) -> bool {
        // The card is what people look at first, so it is only broken where that is said.
        let is_meant = match self.on {
            None => on != Some(On::Card),
            wanted => wanted == on,
        };
        is_meant && self.errors_only == (moment == Moment::Error)
    }

    /// Tells whether it happens the so-manieth time that it could.
    fn is_due(&self, number: u32) -> bool {
        self.first.is_none_or(|first| number <= first)
            && self.every.is_none_or(|every| number.is_multiple_of(every))
    }
}

/// What goes wrong with one request.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan(Vec<Arc<Fault>>);

impl Plan {
    /// Returns the first that is said about something.
    pub(super) fn first<'a, T>(&'a self, pick: impl Fn(&'a Effect) -> Option<T>) -> Option<T> {
        self.0.iter().find_map(|fault| pick(&fault.does))
    }

    pub(super) fn any(&self, pick: impl Fn(&Effect) -> bool) -> bool {
        self.0.iter().any(|fault| pick(&fault.does))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "they are the keys of the file")]
struct Fields {
    on: Option<On>,
    first: Option<u32>,
    every: Option<u32>,
    #[serde(default)]
    errors_only: bool,
    card: Option<CardFault>,
    delay: Option<Pause>,
    status: Option<u16>,
    retry_after: Option<Pause>,
    #[serde(default)]
    ignore_version: bool,
    garbage: Option<String>,
    answer_status: Option<u16>,
    content_type: Option<String>,
    #[serde(default)]
    wrong_id: bool,
    error_shape: Option<ErrorShape>,
    shapes: Option<Shapes>,
    #[serde(default)]
    silence: bool,
    #[serde(default)]
    endless: bool,
    cut_after_bytes: Option<usize>,
    cut_after_events: Option<usize>,
    silence_after_events: Option<usize>,
    garbage_event: Option<usize>,
    #[serde(default)]
    drop_first_event: bool,
    #[serde(default)]
    drop_terminal_event: bool,
    #[serde(default)]
    never_end: bool,
}

impl TryFrom<Fields> for Fault {
    type Error = String;

    fn try_from(fields: Fields) -> Result<Self, String> {
        let does = Effect {
            delay: fields.delay,
            status: fields.status,
            retry_after: fields.retry_after,
            ignore_version: fields.ignore_version,
            garbage: fields.garbage,
            answer_status: fields.answer_status,
            content_type: fields.content_type,
            wrong_id: fields.wrong_id,
            error_shape: fields.error_shape,
            shapes: fields.shapes,
            silence: fields.silence,
            endless: fields.endless,
            cut_after_bytes: fields.cut_after_bytes,
            cut_after_events: fields.cut_after_events,
            silence_after_events: fields.silence_after_events,
            garbage_event: fields.garbage_event,
            drop_first_event: fields.drop_first_event,
            drop_terminal_event: fields.drop_terminal_event,
            never_end: fields.never_end,
        };
        let Fields { on, first, every, errors_only, card, .. } = fields;
        let is_plain = on.is_none() && first.is_none() && every.is_none() && !errors_only;
        if card.is_some() && !(is_plain && does == Effect::default()) {
            return Err("`card` says what the card is like, always, so it stands alone; make \
                        another fault of the rest"
                .into());
        }
        if card.is_none() && does == Effect::default() {
            return Err("nothing goes wrong here; say what does, such as `status: 503`".into());
        }
        if does.retry_after.is_some() && does.status.is_none() {
            return Err("`retry_after` belongs to a `status`".into());
        }
        if every == Some(0) || first == Some(0) {
            return Err("`every` and `first` are numbers of requests, 1 or more".into());
        }
        let statuses = [does.status, does.answer_status];
        if statuses.into_iter().flatten().any(|status| !(100..=999).contains(&status)) {
            return Err("a status is a number from 100 to 999".into());
        }
        let content_type = does.content_type.as_deref();
        if content_type.is_some_and(|text| http::HeaderValue::from_str(text).is_err()) {
            return Err("`content_type` must be fit for a header: plain letters".into());
        }
        Ok(Self { on, first, every, errors_only, card, does })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fault: Fault, expected: &[u32]) {
        let faults = Faults::new(&[fault]);
        let happened: Vec<u32> =
            (1..=6).filter(|_| !faults.happening(None, Moment::Request).is_empty()).collect();
        assert_eq!(happened, expected);
    }

    #[test]
    fn faults_happen_when_they_are_due() {
        check(Fault::default(), &[1, 2, 3, 4, 5, 6]);
        check(Fault { first: Some(2), ..Fault::default() }, &[1, 2]);
        check(Fault { every: Some(3), ..Fault::default() }, &[3, 6]);
        check(Fault { first: Some(4), every: Some(2), ..Fault::default() }, &[2, 4]);
        check(Fault { on: Some(On::Card), ..Fault::default() }, &[]);
        check(Fault { errors_only: true, ..Fault::default() }, &[]);
    }

    #[test]
    fn a_fault_is_about_one_operation_or_all_but_never_unasked_about_the_card() {
        let on = |operation| Some(On::Operation(operation));
        let of =
            |fault: Fault, on| !Faults::new(&[fault]).happening(on, Moment::Request).is_empty();
        let get = Fault { on: on(Operation::GetTask), ..Fault::default() };
        assert!(of(get.clone(), on(Operation::GetTask)));
        assert!(!of(get.clone(), on(Operation::ListTasks)) && !of(get, None));
        assert!(of(Fault::default(), on(Operation::GetTask)));
        assert!(!of(Fault::default(), Some(On::Card)));
    }
}
