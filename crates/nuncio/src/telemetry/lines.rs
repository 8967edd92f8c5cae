//! Log lines, for people or for programs.
//!
//! Invariant: an event is exactly one line. Texts of strangers can neither end it nor talk to
//! the terminal (A-LOG): in text they are spelled out, in JSON they are escaped.

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
    io::Write,
    sync::{Mutex, PoisonError},
};

use nuncio_protocol::{json, time::Timestamp};
use tracing::{
    Event, Metadata,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{Layer, layer::Context, registry::Scope};

use super::Spans;
use crate::inert::{inert, is_active};

/// The form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Time, level, place, message, then `name=value`.
    Text,
    /// A JSON object.
    Json,
}

/// Writes a line for every event.
pub(super) struct Lines<W> {
    format: Format,
    target: Mutex<W>,
}

impl<W> Lines<W> {
    pub(super) const fn new(format: Format, target: W) -> Self {
        Self { format, target: Mutex::new(target) }
    }
}

impl<S: Spans, W: Write + Send + 'static> Layer<S> for Lines<W> {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<Fields>() {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        for span in context.event_scope(event).into_iter().flat_map(Scope::from_root) {
            if let Some(of_span) = span.extensions().get::<Fields>() {
                of_span.0.iter().for_each(|(name, value)| fields.set(name, value.clone()));
            }
        }
        event.record(&mut fields);
        let line = match self.format {
            Format::Text => text(event.metadata(), &fields),
            Format::Json => json(event.metadata(), &fields),
        };
        let mut target = self.target.lock().unwrap_or_else(PoisonError::into_inner);
        // There is nowhere to tell that a line cannot be written.
        let _ = target.write_all(line.as_bytes());
    }
}

/// Fields in the order in which they were first set.
#[derive(Clone, Debug, Default)]
struct Fields(Vec<(&'static str, Value)>);

#[derive(Clone, Debug)]
enum Value {
    Text(String),
    Int(i64),
    Bool(bool),
    /// A number that is written as it is.
    Float(f64),
}

impl Fields {
    fn set(&mut self, name: &'static str, value: Value) {
        // What a span is called elsewhere is said in other fields.
        if name.starts_with("otel.") {
            return;
        }
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    fn message(&self) -> Option<&Value> {
        self.0.iter().find(|(name, _)| *name == MESSAGE).map(|(_, value)| value)
    }

    fn others(&self) -> impl Iterator<Item = &(&'static str, Value)> {
        self.0.iter().filter(|(name, _)| *name != MESSAGE)
    }
}

const MESSAGE: &str = "message";

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field.name(), Value::Text(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field.name(), Value::Text(value.to_owned()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field.name(), Value::Int(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        let number =
            i64::try_from(value).map_or_else(|_| Value::Text(value.to_string()), Value::Int);
        self.set(field.name(), number);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field.name(), Value::Bool(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field.name(), Value::Float(value));
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Int(number) => number.fmt(f),
            Self::Bool(value) => value.fmt(f),
            Self::Float(number) => number.fmt(f),
        }
    }
}

fn text(metadata: &Metadata<'_>, fields: &Fields) -> String {
    let (now, level, target) = (Timestamp::now(), metadata.level(), metadata.target());
    let mut line = format!("{now} {level:>5} {target}");
    if let Some(message) = fields.message() {
        line.push_str(": ");
        line.push_str(&inert(&message.to_string()));
    }
    for (name, value) in fields.others() {
        // Writing to a string cannot fail.
        let _ = write!(line, " {name}={}", in_quotes(&value.to_string()));
    }
    line.push('\n');
    line
}

/// Puts a value in quotes if it could pass for more than one.
fn in_quotes(value: &str) -> Cow<'_, str> {
    let is_simple = !value.is_empty() && !value.contains([' ', '"', '=', '\\']);
    match inert(value) {
        shown if is_simple => shown,
        shown => format!("\"{}\"", shown.replace('"', "\\\"")).into(),
    }
}

fn json(metadata: &Metadata<'_>, fields: &Fields) -> String {
    let mut line = json::write_with(|writer| {
        writer.object(|line| {
            line.member("timestamp", &Timestamp::now().to_string());
            line.member("level", metadata.level().as_str());
            line.member("target", metadata.target());
            if let Some(message) = fields.message() {
                line.member(MESSAGE, &message.to_string());
            }
            for (name, value) in fields.others().filter(|(name, _)| !OURS.contains(name)) {
                line.with(name, |writer| match value {
                    Value::Text(text) => writer.string(text),
                    Value::Int(number) => writer.int(*number),
                    Value::Bool(value) => writer.bool(*value),
                    Value::Float(number) => writer.string(&number.to_string()),
                });
            }
        });
    });
    escape(&mut line);
    line.push('\n');
    line
}

/// Names that a line has anyway.
const OURS: [&str; 3] = ["timestamp", "level", "target"];

/// Escapes what JSON allows in strings and terminals obey. Outside of strings there is none.
fn escape(line: &mut String) {
    if !line.contains(is_active) {
        return;
    }
    let mut escaped = String::with_capacity(line.len() + 16);
    let mut units = [0; 2];
    for letter in line.chars() {
        if is_active(letter) {
            for unit in letter.encode_utf16(&mut units) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(letter);
        }
    }
    *line = escaped;
}
