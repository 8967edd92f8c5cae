//! From text to a checked [`Configuration`].

use std::{collections::BTreeMap, path::Path};

use serde_saphyr::{Error as YamlError, options::PropertySyntax};

use super::{Configuration, Error, Place, Problem, check, nearest::nearest, variables};

/// The variables that a file may name, and that may overrule it.
pub type Environment = BTreeMap<String, String>;

/// Reads and checks a configuration. `${NAME}` and `${NAME:-default}` in its values are
/// replaced from the environment.
///
/// Says all that is wrong if that is how its parts fit together; otherwise the first thing.
pub fn read(text: &str, environment: &Environment) -> Result<Configuration, Error> {
    let masked = |error: Error| error.mask(text, environment);
    let configuration = parse(text, environment).map_err(masked)?;
    check::check(&configuration).map_err(masked)?;
    Ok(configuration)
}

/// Reads a configuration that is yet to be checked.
pub(super) fn parse(text: &str, environment: &Environment) -> Result<Configuration, Error> {
    if text.trim().is_empty() {
        return Ok(Configuration::default());
    }
    let problems = variables::unset(text, environment);
    if !problems.is_empty() {
        return Err(Error::Invalid { problems });
    }
    let properties = environment.iter().map(|(name, value)| (name.clone(), value.clone()));
    let options = serde_saphyr::options! {
        property_syntax: PropertySyntax::DockerCompose,
        with_snippet: false,
    }
    .with_properties(properties.collect());
    let mut key = String::new();
    let document = serde_saphyr::with_deserializer_from_str_with_options(text, options, |yaml| {
        // A document of comments alone is none.
        serde_path_to_error::deserialize::<_, Option<Configuration>>(yaml).map_err(|error| {
            key = path(error.path());
            error.into_inner()
        })
    });
    match document {
        Ok(document) => Ok(document.unwrap_or_default()),
        Err(error) => Err(Error::Invalid { problems: vec![in_our_words(&error, &key)] }),
    }
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

/// Says where something stands, without the step into a value whose place is kept.
fn path(path: &serde_path_to_error::Path) -> String {
    let text = path.to_string();
    let mut steps: Vec<&str> = text.split('.').collect();
    // Nothing but these maps keeps the places of whole objects.
    let place = match steps.as_slice() {
        ["providers" | "mcp_servers", _, "value", ..] | ["cards", _, "value", ..] => Some(2),
        ["budgets", _, _, "value", ..] => Some(3),
        _ => None,
    };
    if let Some(place) = place {
        steps.remove(place);
    }
    steps.join(".")
}

fn in_our_words(error: &YamlError, key: &str) -> Problem {
    let place = error.location();
    let (line, column) = place.map_or((0, 0), |place| (place.line(), place.column()));
    let key = if key == "." || key == "?" { "" } else { key };
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
