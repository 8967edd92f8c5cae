//! What somebody who misspelt a word may have meant.

/// Returns the known word that is nearest, if any is near enough to be meant.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    let bearable = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (distance(&word, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= bearable)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Counts the letters to add, drop, replace or swap with their neighbour. Long words are
/// foreign and compared by their beginning.
fn distance(from: &str, to: &str) -> usize {
    const LONGEST: usize = 64;
    let from: Vec<char> = from.chars().take(LONGEST).collect();
    let to: Vec<char> = to.chars().take(LONGEST).collect();
    let mut rows = vec![vec![0; to.len() + 1]; from.len() + 1];
    for (index, row) in rows.iter_mut().enumerate() {
        row[0] = index;
    }
    for (index, cell) in rows[0].iter_mut().enumerate() {
        *cell = index;
    }
    for i in 1..=from.len() {
        for j in 1..=to.len() {
            let is_other = usize::from(from[i - 1] != to[j - 1]);
            let mut least = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            least = least.min(rows[i - 1][j - 1] + is_other);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: Option<&str>) {
        assert_eq!(nearest(word, ["listen", "trust", "agents", "rules"]), expected, "{word}");
    }

    #[test]
    fn slips_are_forgiven_and_other_words_are_not() {
        check("listne", Some("listen"));
        check("Listen", Some("listen"));
        check("agent", Some("agents"));
        check("trsut", Some("trust"));
        check("rule", Some("rules"));
        check("colour", None);
        check("", None);
    }
}
