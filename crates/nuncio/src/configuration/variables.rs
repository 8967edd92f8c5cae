//! Which variables a file needs.
//!
//! The YAML reader puts the environment into values as Docker Compose does, in quotes too, and
//! as there a variable that is not set is an empty text. Here that is a mistake: a token that
//! is empty by accident is better found at the start than at the first call.

use granit_parser::{Event, Parser};

use nuncio_hub::name::AgentName;

use super::{Environment, Place, Problem};
use crate::inert::inert;

/// Returns every `${NAME}` without a default that the environment does not have.
pub(super) fn unset(text: &str, environment: &Environment) -> Vec<Problem> {
    let mut problems = Vec::new();
    // What is no YAML at all is told by its reader.
    for (event, span) in Parser::new_from_str(text).map_while(Result::ok) {
        let Event::Scalar(value, ..) = event else { continue };
        let (line, column) = (span.start.line(), span.start.col() + 1);
        let place = || Place::at(line.try_into().unwrap_or(0), column.try_into().unwrap_or(0));
        let mut missing = Vec::new();
        find(&value, environment, 0, &mut missing);
        problems.extend(missing.into_iter().map(|name| {
            let what = format!("the environment has no variable `{name}`");
            Problem::new(place(), "", what).fix(format_args!(
                "set it, or give a default: ${{{name}:-default}}; a dollar sign itself is `$$`"
            ))
        }));
    }
    problems
}

/// Returns every variable that a value names, whether it is set or not.
pub(super) fn named(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix('$') {
            rest = behind;
            continue;
        }
        let body = rest.strip_prefix('{').unwrap_or(rest);
        let length = body.find(|letter: char| !is_part_of_name(letter)).unwrap_or(body.len());
        let name = &body[..length];
        let is_name = !name.is_empty() && !name.starts_with(|first: char| first.is_ascii_digit());
        if is_name && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Returns the values of variables that a file names, each with what stands in the file for it,
/// the longest first. Those of a letter or three are no secrets, and part of many words.
pub(super) fn substituted(text: &str, environment: &Environment) -> Vec<(String, String)> {
    const SHORTEST: usize = 4;
    let mut names: Vec<&str> = Vec::new();
    for piece in text.split('$').skip(1) {
        let piece = piece.strip_prefix('{').unwrap_or(piece);
        let end = piece.find(|letter: char| !is_part_of_name(letter)).unwrap_or(piece.len());
        names.push(&piece[..end]);
    }
    let known = names.into_iter().filter_map(|name| environment.get_key_value(name));
    let long = known.filter(|(_, value)| value.len() >= SHORTEST);
    let mut values: Vec<(String, String)> = Vec::new();
    for (name, value) in long {
        let shown = format!("${{{name}}}");
        // As it is, as a problem spells it out, and as it would be proposed for a name.
        let spelt = [
            Some(inert(value).into_owned()),
            AgentName::from_title(value).map(|name| name.to_string()),
        ];
        values.extend(spelt.into_iter().flatten().map(|spelt| (shown.clone(), spelt)));
        values.push((shown, value.clone()));
    }
    values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
    values.retain(|(_, value)| value.len() >= SHORTEST);
    values
}

/// Finds what a value needs. A default counts only if it is used.
fn find<'a>(text: &'a str, environment: &Environment, depth: usize, missing: &mut Vec<&'a str>) {
    /// The reader has a limit of its own, and says so.
    const DEEPEST: usize = 16;
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix('$') {
            rest = behind;
            continue;
        }
        let (is_braced, body) = match rest.strip_prefix('{') {
            Some(body) => (true, body),
            None => (false, rest),
        };
        let length = body.find(|letter: char| !is_part_of_name(letter)).unwrap_or(body.len());
        let (name, behind) = body.split_at(length);
        rest = behind;
        if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
            continue;
        }
        let is_set = environment.contains_key(name);
        if !is_braced || behind.starts_with('}') {
            if !is_set {
                missing.push(name);
            }
            continue;
        }
        // Whatever is behind a name is a default or the like, with braces of its own.
        let inside = &behind[..closing(behind)];
        rest = &behind[inside.len()..];
        let is_default = inside.starts_with('-') || inside.starts_with(":-");
        if is_default && !is_set && depth < DEEPEST {
            find(inside, environment, depth + 1, missing);
        }
    }
}

const fn is_part_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Returns where the brace closes that was opened before.
fn closing(text: &str) -> usize {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => return at,
            '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expected: &[&str]) {
        let environment = [("SET".to_owned(), "x".to_owned())].into();
        let mut missing = Vec::new();
        find(value, &environment, 0, &mut missing);
        assert_eq!(missing, expected, "{value}");
    }

    #[test]
    fn every_variable_is_named_once() {
        assert_eq!(named("${A} $B ${C:-${D}} $${E} $5 ${A}"), ["A", "B", "C", "D"]);
        assert!(named("plain").is_empty());
    }

    #[test]
    fn only_what_is_needed_must_be_set() {
        check("plain", &[]);
        check("${SET} $SET", &[]);
        check("${A} and $B", &["A", "B"]);
        check("$${A} $$A $5 $", &[]);
        check("${A:-x} ${A-x} ${A:-} ${A+x} ${A:?y}", &[]);
        check("${A:-${B}} ${SET:-${C}} ${A:-${B:-z}}${D}", &["B", "D"]);
        check("${A", &[]);
    }
}
