//! From the events of a parser to a tree.

use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, Span, Tag};

use super::{Kind, MAX_BYTES, MAX_DEPTH, MAX_VALUES, Member, Place, Value, scalar, small};
use crate::problem::{Code, MAX_PROBLEMS, Problem};

pub(super) fn read(text: &str) -> Result<Value, Vec<Problem>> {
    if text.len() > MAX_BYTES {
        let what = format!("it has {} bytes, more than {MAX_BYTES}", text.len());
        let fix = "take it apart, with nodes of type `workflow`";
        return Err(vec![Problem::new(Code::TooLarge, Place::NOWHERE, "", what, fix)]);
    }
    let mut options = Options::default();
    options.set_emit_comments(false);
    // JSON has no limit for keys; ours is the file's.
    options.simple_key_max_lookahead = MAX_BYTES;
    let mut builder = Builder::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let taken = match event {
            Ok((event, span)) => builder.take(event, &span),
            Err(error) => Err(not_yaml(&error)),
        };
        if let Err(problem) = taken {
            builder.problems.push(problem);
            return Err(builder.problems);
        }
    }
    match builder.root {
        Some(root) if builder.problems.is_empty() => Ok(root),
        Some(_) => Err(builder.problems),
        None => {
            let fix = "write at least `name`, `nodes` and `edges`";
            Err(vec![Problem::new(Code::Syntax, Place::NOWHERE, "", "there is nothing in it", fix)])
        }
    }
}

fn not_yaml(error: &ScanError) -> Problem {
    let place = Place::new(small(error.marker().line()), small(error.marker().col() + 1));
    let what = format!("this is not YAML: {}", error.info());
    let fix = "mind quotes, brackets and indentation here and in the line before";
    Problem::new(Code::Syntax, place, "", what, fix)
}

/// What has been read so far.
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Value>,
    /// What aliases stand for, by the number of their anchor.
    anchors: HashMap<usize, Anchored>,
    count: usize,
    problems: Vec<Problem>,
}

/// A list or mapping whose end is yet to come.
struct Open {
    value: Value,
    anchor: usize,
    /// How many values were there before it.
    before: usize,
    /// How deep it is, below itself.
    depth: usize,
    keys: HashSet<String>,
    has_merged: bool,
    /// The name of the next value, in a mapping.
    key: Option<(String, Place)>,
}

struct Anchored {
    value: Value,
    count: usize,
    depth: usize,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), Problem> {
        let value = |kind| Value {
            kind,
            place: Place::new(small(span.start.line()), small(span.start.col() + 1)),
            span: span.byte_range().unwrap_or(0..0),
        };
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let kind = match (tag.as_deref(), style) {
                    (Some(tag), _) => tagged(tag, &text, value(Kind::Null).place)?,
                    (None, ScalarStyle::Plain) => scalar::plain(&text),
                    (None, _) => Kind::Text(text.into_owned()),
                };
                self.put(value(kind), anchor, 1, 0)
            }
            Event::SequenceStart(_, anchor, _) => self.begin(value(Kind::List(Vec::new())), anchor),
            Event::MappingStart(_, anchor, _) => self.begin(value(Kind::Map(Vec::new())), anchor),
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => {
                let place = value(Kind::Null).place;
                let Some(anchored) = self.anchors.get(&anchor) else {
                    let what = "an alias stands within what it stands for";
                    return Err(problem(Code::Syntax, place, what, "write it out"));
                };
                let Anchored { value, count, depth } = anchored;
                let (value, count, depth) = (value.clone(), *count, *depth);
                self.put(value, 0, count, depth)
            }
            Event::DocumentStart(..) if self.root.is_some() => {
                let place = value(Kind::Null).place;
                let what = "a second document begins here";
                Err(problem(Code::Syntax, place, what, "keep each workflow in a file of its own"))
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, value: Value, anchor: usize) -> Result<(), Problem> {
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(value.place));
        }
        let (before, keys) = (self.count, HashSet::new());
        let open = Open { value, anchor, before, depth: 0, keys, has_merged: false, key: None };
        self.open.push(open);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Problem> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let count = self.count - open.before + 1;
        self.put_counted(open.value, open.anchor, count, open.depth + 1, 1)
    }

    /// Puts a finished value where it belongs.
    fn put(
        &mut self,
        value: Value,
        anchor: usize,
        count: usize,
        depth: usize,
    ) -> Result<(), Problem> {
        self.put_counted(value, anchor, count, depth, count)
    }

    /// The same; `new` of its values have not been counted yet.
    fn put_counted(
        &mut self,
        value: Value,
        anchor: usize,
        count: usize,
        depth: usize,
        new: usize,
    ) -> Result<(), Problem> {
        self.count = self.count.saturating_add(new);
        if self.count > MAX_VALUES {
            let what = format!("it holds more than {MAX_VALUES} values");
            return Err(problem(Code::TooLarge, value.place, what, "use fewer aliases"));
        }
        if self.open.len() + depth > MAX_DEPTH {
            return Err(too_deep(value.place));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, Anchored { value: value.clone(), count, depth });
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(value);
            return Ok(());
        };
        open.depth = open.depth.max(depth);
        match &mut open.value.kind {
            Kind::List(items) => items.push(value),
            Kind::Map(members) => match open.key.take() {
                None => open.key = Some(key(value)?),
                Some((key, _)) if key == "<<" && value.is_mergeable() => {
                    open.has_merged = true;
                    merge(members, value);
                }
                Some((key, place)) => {
                    if !open.keys.insert(key.clone()) {
                        // The first one counts for what else is told about the file.
                        if self.problems.len() < MAX_PROBLEMS {
                            let what = format!("`{key}` stands here a second time");
                            let fix = "keep one of them";
                            self.problems.push(problem(Code::DuplicateKey, place, what, fix));
                        }
                        return Ok(());
                    }
                    // What was merged in is overruled by what is said here.
                    if open.has_merged {
                        members.retain(|member| member.key != key);
                    }
                    members.push(Member { key, place, value });
                }
            },
            _ => {}
        }
        Ok(())
    }
}

impl Value {
    fn is_mergeable(&self) -> bool {
        match &self.kind {
            Kind::Map(_) => true,
            Kind::List(items) => items.iter().all(|item| matches!(item.kind, Kind::Map(_))),
            _ => false,
        }
    }
}

/// Takes over the members of another mapping, or of several, that are not there yet.
fn merge(members: &mut Vec<Member>, value: Value) {
    let others = match value.kind {
        Kind::Map(others) => others,
        Kind::List(items) => {
            return items.into_iter().for_each(|item| merge(members, item));
        }
        _ => return,
    };
    let there: HashSet<String> = members.iter().map(|member| member.key.clone()).collect();
    members.extend(others.into_iter().filter(|other| !there.contains(&other.key)));
}

/// Returns a scalar as a name.
fn key(value: Value) -> Result<(String, Place), Problem> {
    let place = value.place;
    let text = match value.kind {
        Kind::Text(text) | Kind::Number(text) => text,
        Kind::Bool(value) => value.to_string(),
        Kind::Null => "null".to_owned(),
        Kind::List(_) | Kind::Map(_) => {
            let what = "a name must be a text";
            let fix = "put a text that begins with `{{` in quotes: \"{{topic}}\"";
            return Err(problem(Code::Syntax, place, what, fix));
        }
    };
    Ok((text, place))
}

fn tagged(tag: &Tag, text: &str, place: Place) -> Result<Kind, Problem> {
    let plain = scalar::plain(text);
    let is_same = matches!(
        (tag.core_suffix(), &plain),
        (Some("null"), Kind::Null)
            | (Some("bool"), Kind::Bool(_))
            | (Some("int" | "float"), Kind::Number(_))
    );
    match tag.core_suffix() {
        Some("str") => Ok(Kind::Text(text.to_owned())),
        _ if is_same => Ok(plain),
        _ => {
            let what = format!("`{}` is no tag that is known here", tag.original());
            Err(problem(Code::Syntax, place, what, "leave it out"))
        }
    }
}

fn too_deep(place: Place) -> Problem {
    let what = format!("lists and mappings nest deeper than {MAX_DEPTH} levels");
    problem(Code::TooLarge, place, what, "write it with fewer levels")
}

fn problem(code: Code, place: Place, what: impl std::fmt::Display, fix: &str) -> Problem {
    Problem::new(code, place, "", what, fix)
}
