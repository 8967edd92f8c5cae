//! From text to a checked [`Configuration`].

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::Deserialize as _;
use serde_saphyr::{Error as YamlError, options::PropertySyntax};

use super::{
    Configuration, Error, Place, Problem, check,
    lines::Lines,
    nearest::nearest,
    sieve::{Notes, Sieve},
    variables,
};

/// The variables that a file may name, and that may overrule it.
pub type Environment = BTreeMap<String, String>;

/// Nobody mends more than so many mistakes before the next look.
const MOST: usize = 50;

/// What agents are made of: who is wrong about these may be right about an agent.
const INGREDIENTS: [&str; 3] = ["providers", "mcp_servers", "default_model"];

/// Reads and checks a configuration. `${NAME}` and `${NAME:-default}` in its values are
/// replaced from the environment.
///
/// Says all that is wrong, in the order of the text. What is no YAML, or has a key twice, ends
/// the search.
pub fn read(text: &str, environment: &Environment) -> Result<Configuration, Error> {
    parse(text, environment).checked().map_err(|error| error.mask(text, environment))
}

/// What a text says, as far as it can be understood.
#[derive(Debug)]
pub(super) struct Parsed {
    lines: Lines,
    /// Without what stands at the keys below.
    pub(super) configuration: Configuration,
    pub(super) problems: Vec<Problem>,
    /// Keys of which somebody else has the last word.
    pub(super) overruled: Vec<&'static str>,
    left_out: BTreeSet<String>,
}

/// Reads a configuration that is yet to be checked.
pub(super) fn parse(text: &str, environment: &Environment) -> Parsed {
    let lines = Lines::read(text);
    let problems = variables::unset(text, environment);
    let unset = problems.iter().map(|problem| problem.place().clone()).collect();
    // Behind the first variable in a text its reader leaves the words of the text out of all that
    // it says, for they might be those of a secret. So it is heard without any, too.
    let variable: BTreeSet<String> = lines.with_variables().map(str::to_owned).collect();
    let mut plain = Search::default();
    if !variable.is_empty() {
        plain.run(text, None, variable);
    }
    let mut search = Search { unset, words: plain.problems, problems };
    let (configuration, left_out) = search.run(text, Some(environment), BTreeSet::new());
    let Search { problems, .. } = search;
    Parsed { lines, configuration, problems, overruled: Vec::new(), left_out }
}

/// A search for all that cannot be read.
#[derive(Default)]
struct Search {
    /// Where variables stand that are not set: an empty value may be wrong there, and is not
    /// what was meant.
    unset: Vec<Place>,
    /// How to say what is wrong, if it is found.
    words: Vec<Problem>,
    problems: Vec<Problem>,
}

impl Search {
    /// Reads again and again, and leaves out what cannot be read. Returns what is left, and
    /// without what: the empty key is all of it.
    fn run(
        &mut self,
        text: &str,
        environment: Option<&Environment>,
        left_out: BTreeSet<String>,
    ) -> (Configuration, BTreeSet<String>) {
        let mut notes = Notes::new(left_out);
        loop {
            let error = match attempt(text, environment, &notes) {
                Ok(configuration) => return (configuration, notes.left_out),
                Err(error) => error,
            };
            let key = notes.take_failed();
            let problem = in_our_words(&error, &key);
            // What was left out may be missed around it. The whole needs nothing.
            let is_missed = |left: &String| !key.is_empty() && is_part(left, &key);
            let follows = notes.left_out.iter().any(is_missed);
            if !follows && !self.unset.contains(problem.place()) {
                let same = self.words.iter().find(|known| known.is_at(&problem));
                self.problems.push(same.cloned().unwrap_or(problem));
            }
            let is_last = key.is_empty() || self.problems.len() >= MOST;
            if !notes.left_out.insert(key) || is_last {
                return (Configuration::default(), [String::new()].into());
            }
        }
    }
}

/// Reads a text, with its variables as they are if there is no environment.
fn attempt(
    text: &str,
    environment: Option<&Environment>,
    notes: &Notes,
) -> Result<Configuration, YamlError> {
    if text.trim().is_empty() {
        return Ok(Configuration::default());
    }
    let mut options = serde_saphyr::options! { with_snippet: false };
    if let Some(environment) = environment {
        let properties = environment.iter().map(|(name, value)| (name.clone(), value.clone()));
        options = options.with_properties(properties.collect());
        options.property_syntax = PropertySyntax::DockerCompose;
    }
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options, |yaml| {
        // A document of comments alone is none.
        Option::<Configuration>::deserialize(Sieve::new(yaml, notes))
    });
    read.map(Option::unwrap_or_default)
}

impl Parsed {
    /// Returns the configuration, if nothing is wrong with it.
    pub(super) fn checked(self) -> Result<Configuration, Error> {
        let mut found = check::check(&self.configuration);
        for problem in &mut found {
            problem.rename(self.key_in_text(problem.key()));
        }
        found.retain(|problem| self.is_sure(problem));
        let Self { lines, configuration, mut problems, overruled, .. } = self;
        if found.is_empty() && problems.is_empty() {
            return Ok(configuration);
        }
        for problem in found.iter_mut().filter(|problem| !overruled.contains(&problem.key())) {
            problem.find(&lines);
        }
        // An empty value, because its variable is not set, is told once.
        found.retain(|found| problems.iter().all(|known| known.place() != found.place()));
        problems.extend(found);
        problems.sort_by_key(Problem::order);
        Err(Error::Invalid { problems })
    }

    /// Returns the key of what stands at this one in the configuration, where lists lack what was
    /// left out.
    fn key_in_text(&self, key: &str) -> String {
        let split = key.split_once('[').and_then(|(list, rest)| {
            let (index, rest) = rest.split_once(']')?;
            Some((list, index.parse::<usize>().ok()?, rest))
        });
        let Some((list, index, rest)) = split else { return key.to_owned() };
        let all = (0..).map(|index| format!("{list}[{index}]"));
        let mut there = all.filter(|element| !self.left_out.contains(element));
        there.nth(index).unwrap_or_default() + rest
    }

    /// Tells whether something is wrong also if what was left out was right.
    fn is_sure(&self, problem: &Problem) -> bool {
        let part = part_of(problem.key());
        let is_made = ["agents", "default_model"].contains(&section_of(part));
        !self.left_out.iter().any(|left| {
            left.is_empty()
                || part_of(left) == part
                || (is_made && INGREDIENTS.contains(&section_of(left)))
        })
    }
}

/// Tells whether a key is the same as another, or stands below it.
fn is_part(key: &str, above: &str) -> bool {
    let rest = key.strip_prefix(above);
    rest.is_some_and(|rest| above.is_empty() || rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Returns the first step of a key: `limits`, `agents`.
fn section_of(key: &str) -> &str {
    key.split(['.', '[']).next().unwrap_or_default()
}

/// Returns what is judged by itself: `limits`, `agents[2]`, `providers.local`.
fn part_of(key: &str) -> &str {
    let section = section_of(key);
    let rest = &key[section.len()..];
    let length = match rest.find(']') {
        Some(end) if rest.starts_with('[') => end + 1,
        _ if INGREDIENTS.contains(&section) => {
            rest.get(1..).and_then(|name| name.find('.')).map_or(rest.len(), |end| end + 1)
        }
        _ => 0,
    };
    &key[..section.len() + length]
}

impl Error {
    /// Puts the names of variables in place of their values, which may be secrets.
    pub(super) fn mask(self, text: &str, environment: &Environment) -> Self {
        match self {
            Self::Invalid { problems } => {
                let values = variables::substituted(text, environment);
                let problems = problems.into_iter().map(|problem| problem.mask(&values));
                Self::Invalid { problems: problems.collect() }
            }
            other => other,
        }
    }

    /// Says in which file it is.
    pub(super) fn in_file(self, path: Option<&Path>) -> Self {
        match self {
            Self::Invalid { problems } => {
                let problems = problems.into_iter().map(|problem| problem.in_file(path));
                Self::Invalid { problems: problems.collect() }
            }
            other => other,
        }
    }
}

fn in_our_words(error: &YamlError, key: &str) -> Problem {
    let place = error.location();
    let (line, column) = place.map_or((0, 0), |place| (place.line(), place.column()));
    let problem = |what: String| Problem::new(Place::at(line, column), key, what);
    match error.without_snippet() {
        YamlError::SerdeUnknownField { field, expected, .. } => {
            problem(format!("`{field}` is no key here")).fix(meant(field, expected))
        }
        YamlError::SerdeUnknownVariant { variant, expected, .. } => {
            problem(format!("`{variant}` is not known here")).fix(meant(variant, expected))
        }
        YamlError::SerdeMissingField { field, .. } => {
            problem(format!("`{field}` is missing")).fix(format_args!("add `{field}: …`"))
        }
        YamlError::DuplicateMappingKey { key: Some(twice), .. } => {
            problem(format!("`{twice}` stands here twice")).fix("keep one of them")
        }
        YamlError::Message { msg, .. } => problem(without_place(msg, line, column)),
        other => {
            // The first line says what is wrong; a picture of the place may follow.
            let text = other.to_string();
            let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            problem(without_place(first, line, column))
        }
    }
}

/// Returns a message without the place, which is told apart.
fn without_place(message: &str, line: u64, column: u64) -> String {
    let repeated = format!(" at line {line}, column {column}");
    message.strip_suffix(&repeated).unwrap_or(message).to_owned()
}

fn meant(word: &str, known: &[&'static str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known are {}", known.join(", ")),
    }
}
