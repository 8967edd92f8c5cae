//! What somebody has said, in one line.

/// The longest line of text, in characters.
const LONGEST_LINE: usize = 200;

/// Makes a line of a text: for tables, so it is cut, and nothing in it moves a cursor.
pub(crate) fn line(text: &str) -> String {
    let fit = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let words: Vec<&str> = fit.filter(|word| !word.is_empty()).collect();
    let mut line = words.join(" ");
    if let Some((end, _)) = line.char_indices().nth(LONGEST_LINE) {
        line.truncate(end);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line_and_short() {
        let check = |text: &str, expected: &str| assert_eq!(line(text), expected);
        check("", "");
        check(" a\n\tb\u{1b}[2J\r\nc ", "a b [2J c");
        check(&"ä".repeat(200), &"ä".repeat(200));
        check(&"ä".repeat(201), &("ä".repeat(200) + "…"));
    }
}
