//! What somebody who misspelt a word may have meant.

/// Returns the known word that is nearest, if any is near enough to be meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// A hostile file must not make us compare everything with everything.
    const MOST: usize = 1000;
    let word = letters(word);
    let bearable = (word.len() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (letters(candidate), candidate))
        .filter(|(letters, _)| letters.len().abs_diff(word.len()) <= bearable)
        .take(MOST)
        .map(|(letters, candidate)| (distance(&word, &letters), candidate))
        .filter(|(distance, _)| *distance <= bearable)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Adds what may have been meant to what is to be done.
pub(crate) fn did_you_mean(near: Option<&str>, otherwise: impl Into<String>) -> String {
    near.map_or_else(|| otherwise.into(), |near| format!("did you mean `{near}`?"))
}

/// Long words are a stranger's, and compared by their beginning.
fn letters(word: &str) -> Vec<char> {
    word.chars().take(32).flat_map(char::to_lowercase).collect()
}

/// Counts the letters to add, drop, replace or swap with their neighbour.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, other) in to.iter().enumerate() {
            let replaced = above[j] + usize::from(letter != other);
            let mut least = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            let is_swapped = i > 0 && j > 0 && *letter == to[j - 1] && from[i - 1] == *other;
            if is_swapped {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: Option<&str>) {
        assert_eq!(nearest(word, ["prompt", "timeout", "agent", "data"]), expected, "{word}");
    }

    #[test]
    fn slips_are_forgiven_and_other_words_are_not() {
        check("promt", Some("prompt"));
        check("Prompt", Some("prompt"));
        check("pormpt", Some("prompt"));
        check("timeuot", Some("timeout"));
        check("agents", Some("agent"));
        check("dta", Some("data"));
        check("colour", None);
        check("", None);
    }
}
