//! Whether a document has the form of a workflow.

use super::{
    NodeId, Time,
    form::{self, Form, Member, Shape},
};
use crate::{
    document::{Kind, Place, Value},
    nearest::{did_you_mean, nearest},
    problem::{Code, MAX_PROBLEMS, Problem},
};

/// Gathers what is wrong, up to a limit.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    found: Vec<Problem>,
    has_errors: bool,
}

impl Problems {
    /// Adds what is wrong. It is only put into words if there is room for it.
    pub(crate) fn add(&mut self, problem: impl FnOnce() -> Problem) {
        let has_room = self.found.len() < MAX_PROBLEMS;
        // Many warnings must not hide that there is an error.
        if has_room || !self.has_errors {
            let problem = problem();
            self.has_errors |= !problem.is_warning();
            if has_room || self.has_errors {
                self.found.push(problem);
            }
        }
    }

    pub(crate) const fn has_errors(&self) -> bool {
        self.has_errors
    }

    /// Returns them in the order of the file.
    pub(crate) fn into_sorted(mut self) -> Vec<Problem> {
        self.found.sort_by_key(Problem::place);
        self.found
    }
}

/// Looks at the shape of every value.
pub(super) struct Checker<'a> {
    pub(super) problems: &'a mut Problems,
    /// Whether members that nobody knows are ignored.
    pub(super) is_upal: bool,
}

impl Checker<'_> {
    pub(super) fn check(&mut self, value: &Value, shape: &Shape, key: &str) {
        let kind = value.kind();
        if matches!(kind, Kind::Null) {
            return;
        }
        match (shape, kind) {
            (Shape::Json | Shape::Tree, _)
            | (Shape::Flag, Kind::Bool(_))
            | (Shape::Text | Shape::Template | Shape::Prompt | Shape::Condition, Kind::Text(_)) => {
            }
            (Shape::Prompt, Kind::List(items)) => self.items(items, &Shape::Template, key),
            (Shape::List(shape), Kind::List(items)) => self.items(items, shape, key),
            (Shape::Nodes(_), Kind::List(items)) => self.items(items, &Shape::Id, key),
            (Shape::ByName(shape), Kind::Map(members)) => {
                for member in members {
                    self.check(&member.value, shape, &format!("{key}.{}", member.key));
                }
            }
            (Shape::Form(form), Kind::Map(_)) => self.form(value, &[form], key),
            (Shape::Node, Kind::Map(_)) => self.node(value, &form::NODE, key),
            (Shape::Body, Kind::Map(_)) => self.body(value, key),
            (Shape::Whole(least, most), Kind::Number(number)) => {
                let whole: Option<u32> = number.parse().ok();
                if !whole.is_some_and(|whole| (*least..=*most).contains(&whole)) {
                    let fix = format!("give a whole number from {least} to {most}");
                    self.bad_value(value, key, &format!("{number} is not possible"), &fix);
                }
            }
            (Shape::Number(least, most), Kind::Number(number)) => {
                let parsed: Option<f64> = number.parse().ok();
                if !parsed.is_some_and(|number| (*least..=*most).contains(&number)) {
                    let fix = format!("give a number from {least} to {most}");
                    self.bad_value(value, key, &format!("{number} is not possible"), &fix);
                }
            }
            (Shape::Time, Kind::Text(text)) => {
                if let Err(error) = text.parse::<Time>() {
                    let what = format!("`{text}` is no length of time");
                    self.problem(Code::BadDuration, value.place(), key, what, error);
                }
            }
            (Shape::Time, Kind::Number(_)) if self.is_upal => {}
            (Shape::Time, Kind::Number(number)) => {
                let what = format!("{number} of what?");
                let fix = format!("add a unit: {number}s");
                self.problem(Code::BadDuration, value.place(), key, what, fix);
            }
            (Shape::Choice(choices) | Shape::Nodes(choices), Kind::Text(text)) => {
                // Upal writes an empty text where nothing is chosen.
                if !choices.contains(&text.as_str()) && !text.is_empty() {
                    let near = nearest(text, choices.iter().copied());
                    let fix = did_you_mean(near, format!("choose from {}", choices.join(", ")));
                    self.bad_value(value, key, &format!("`{text}` is not possible"), &fix);
                }
            }
            (Shape::Id, Kind::Text(text)) => {
                if let Err(error) = NodeId::parse(text) {
                    let what = format!("`{text}` is no name of a node");
                    self.problem(Code::BadId, value.place(), key, what, error);
                }
            }
            _ => self.wrong_type(value, shape, key),
        }
    }

    fn items(&mut self, items: &[Value], shape: &Shape, key: &str) {
        for (index, item) in items.iter().enumerate() {
            let key = format!("{key}[{index}]");
            if matches!(item.kind(), Kind::Null) {
                self.wrong_type(item, shape, &key);
            }
            self.check(item, shape, &key);
        }
    }

    /// Looks at a mapping whose members are those of some forms.
    pub(super) fn form(&mut self, value: &Value, forms: &[&Form], key: &str) {
        let Kind::Map(members) = value.kind() else { return };
        let known = || forms.iter().flat_map(|form| form.members);
        let inside = |name: &str| {
            if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") }
        };
        for member in members {
            match known().find(|known| known.name == member.key) {
                Some(found) => self.check(&member.value, &found.shape, &inside(found.name)),
                None => self.unknown(&member.key, member.place, &inside(&member.key), known()),
            }
        }
        for form in forms {
            self.one_of(form, Some(value), value.place(), key);
        }
        for missing in known().filter(|known| known.is_required) {
            if value.get(missing.name).is_none_or(|value| matches!(value.kind(), Kind::Null)) {
                let what = format!("there is no `{}`", missing.name);
                let fix = format!("add it: {}", lower(missing.about));
                self.problem(Code::MissingMember, value.place(), key, what, fix);
            }
        }
    }

    /// Looks whether exactly one of some members is there.
    fn one_of(&mut self, form: &Form, value: Option<&Value>, place: Place, key: &str) {
        if form.one_of.is_empty() {
            return;
        }
        let is_given = |name: &&&str| {
            let given = value.and_then(|value| value.get(name)).map(Value::kind);
            // Upal writes an empty text where nothing is said.
            given.is_some_and(|kind| match kind {
                Kind::Null => false,
                Kind::Text(text) => !text.is_empty(),
                _ => true,
            })
        };
        let given: Vec<&str> = form.one_of.iter().filter(is_given).copied().collect();
        let fix = format!("set one of `{}`", form.one_of.join("`, `"));
        match given.as_slice() {
            [_] => {}
            [] => self.problem(Code::MissingMember, place, key, "one thing is missing", fix),
            [first, second, ..] => {
                let what = format!("`{first}` and `{second}` cannot both be set");
                self.problem(Code::BadValue, place, key, what, fix);
            }
        }
    }

    fn unknown(
        &mut self,
        name: &str,
        place: Place,
        key: &str,
        known: impl Iterator<Item = &'static Member>,
    ) {
        let is_upal = self.is_upal;
        self.problems.add(|| {
            let what = format!("nobody knows `{name}`");
            if is_upal {
                let fix = "it is left out; Upal may need it";
                return Problem::new(Code::IgnoredMember, place, key, what, fix);
            }
            let names: Vec<&str> = known.map(|member| member.name).collect();
            let near = nearest(name, names.iter().copied());
            let fix = did_you_mean(near, format!("there are {}", names.join(", ")));
            Problem::new(Code::UnknownMember, place, key, what, fix)
        });
    }

    fn node(&mut self, value: &Value, form: &Form, key: &str) {
        self.form(value, &[form], key);
        let Some(kind) = value.get("type") else { return };
        let Some(name) = kind.as_text() else { return };
        let Some(config) = form::config(name) else {
            let names = form::CONFIGS.iter().map(|(name, _)| *name);
            let near = nearest(name, names.clone());
            let all: Vec<&str> = names.collect();
            let fix = did_you_mean(near, format!("there are {}", all.join(", ")));
            let what = format!("`{name}` is no type of node");
            return self.problem(
                Code::UnknownType,
                kind.place(),
                &format!("{key}.type"),
                what,
                fix,
            );
        };
        let key = format!("{key}.config");
        match value.get("config") {
            None => self.missing_config(value, config, &key),
            Some(given) => match given.kind() {
                Kind::Null => self.missing_config(value, config, &key),
                Kind::Map(_) => self.form(given, &[config, &form::SETTINGS], &key),
                _ => self.wrong_type(given, &Shape::Form(&form::SETTINGS), &key),
            },
        }
    }

    /// Looks at what a node over a list does.
    fn body(&mut self, value: &Value, key: &str) {
        self.node(value, &form::BODY, key);
        let kind = value.get("type").and_then(Value::as_text).unwrap_or_default();
        if matches!(kind, "input" | "run_input" | "output" | "map") {
            let place = value.get("type").map_or_else(|| value.place(), Value::place);
            let what = format!("a node of type `{kind}` cannot be done for each item");
            let fix = "use another type, such as `workflow` for several steps";
            self.problem(Code::BadValue, place, &format!("{key}.type"), what, fix);
        }
    }

    fn missing_config(&mut self, node: &Value, config: &Form, key: &str) {
        self.one_of(config, None, node.place(), key);
        for missing in config.members.iter().filter(|member| member.is_required) {
            let what = format!("there is no `{}`", missing.name);
            let fix = format!("add it: {}", lower(missing.about));
            self.problem(Code::MissingMember, node.place(), key, what, fix);
        }
    }

    fn wrong_type(&mut self, value: &Value, shape: &Shape, key: &str) {
        let mut fix = format!("write {}", expected(shape));
        if matches!(value.kind(), Kind::Number(_) | Kind::Bool(_) | Kind::Map(_)) && shape.is_text()
        {
            fix += ", in quotes if need be";
        }
        let what = format!("this is {}", value.sort());
        self.problem(Code::WrongType, value.place(), key, what, fix);
    }

    fn bad_value(&mut self, value: &Value, key: &str, what: &str, fix: &str) {
        self.problem(Code::BadValue, value.place(), key, what, fix);
    }

    pub(super) fn problem(
        &mut self,
        code: Code,
        place: Place,
        key: &str,
        what: impl std::fmt::Display,
        fix: impl std::fmt::Display,
    ) {
        self.problems.add(|| Problem::new(code, place, key, what, fix));
    }
}

impl Shape {
    const fn is_text(&self) -> bool {
        matches!(
            self,
            Self::Text
                | Self::Template
                | Self::Prompt
                | Self::Condition
                | Self::Id
                | Self::Choice(_)
        )
    }
}

/// Says what a value must be, for people.
fn expected(shape: &Shape) -> &'static str {
    match shape {
        Shape::Text | Shape::Template | Shape::Condition | Shape::Id | Shape::Choice(_) => "a text",
        Shape::Prompt => "a text or a list of texts",
        Shape::Flag => "true or false",
        Shape::Whole(..) | Shape::Number(..) => "a number",
        Shape::Time => "a length of time such as 30s",
        Shape::Nodes(_) => "a text or a list of nodes",
        Shape::List(_) => "a list",
        Shape::ByName(_) | Shape::Form(_) | Shape::Node | Shape::Body => "a mapping",
        Shape::Json | Shape::Tree => "a value",
    }
}

fn lower(about: &str) -> String {
    let about = about.trim_end_matches('.');
    let mut letters = about.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
