//! From letters to words.

use super::{Error, Function, Operator};
use crate::template::{self, Reference, Template};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Null,
    Bool(bool),
    Number(f64),
    Text(Template),
    Reference(Reference),
    Function(Function),
    Operator(Operator),
    And,
    Or,
    Not,
    Open,
    Close,
    OpenList,
    CloseList,
    Comma,
}

/// Takes a text apart. Each word knows where it begins.
pub(super) fn words(text: &str) -> Result<Vec<(usize, Token)>, Error> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        if letter.is_whitespace() {
            at += letter.len_utf8();
            continue;
        }
        let (token, length) = word(text, at)?;
        words.push((at, token));
        at += length;
    }
    Ok(words)
}

/// Reads the word that begins at a place, and says how long it is.
fn word(text: &str, at: usize) -> Result<(Token, usize), Error> {
    const SYMBOLS: [(&str, Token); 17] = [
        ("==", Token::Operator(Operator::Equal)),
        ("!=", Token::Operator(Operator::NotEqual)),
        ("<=", Token::Operator(Operator::LessOrEqual)),
        (">=", Token::Operator(Operator::GreaterOrEqual)),
        ("<", Token::Operator(Operator::Less)),
        (">", Token::Operator(Operator::Greater)),
        ("&&", Token::And),
        ("||", Token::Or),
        ("!", Token::Not),
        ("(", Token::Open),
        (")", Token::Close),
        ("[", Token::OpenList),
        ("]", Token::CloseList),
        (",", Token::Comma),
        ("≤", Token::Operator(Operator::LessOrEqual)),
        ("≥", Token::Operator(Operator::GreaterOrEqual)),
        ("≠", Token::Operator(Operator::NotEqual)),
    ];
    let rest = &text[at..];
    if rest.starts_with("{{") {
        let (reference, end) =
            template::reference(text, at).map_err(|error| malformed(at, error.to_string()))?;
        return Ok((Token::Reference(reference), end - at));
    }
    if rest.starts_with(['\'', '"']) {
        return quoted(rest, at);
    }
    if let Some((symbol, token)) = SYMBOLS.into_iter().find(|(symbol, _)| rest.starts_with(symbol))
    {
        return Ok((token, symbol.len()));
    }
    if let Some((number, length)) = number(rest) {
        return Ok((Token::Number(number), length));
    }
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
    let behind = &rest[length..];
    let is_path = behind.starts_with(['.', '[']);
    if let Some(token) = keyword(&rest[..length], behind).filter(|_| !is_path) {
        return Ok((token, length));
    }
    if length == 0 {
        let letter = rest.chars().next().unwrap_or_default();
        let what = match letter {
            '=' => "write `==` to compare".to_owned(),
            '+' | '*' | '/' | '%' => "there is no arithmetic here".to_owned(),
            _ => format!("`{letter}` means nothing here"),
        };
        return Err(malformed(at, what));
    }
    let (reference, length) =
        Reference::read(rest, at).map_err(|error| malformed(at, error.to_string()))?;
    Ok((Token::Reference(reference), length))
}

fn keyword(word: &str, behind: &str) -> Option<Token> {
    let function = match word {
        "len" => Some(Function::Length),
        "lower" => Some(Function::Lower),
        "upper" => Some(Function::Upper),
        "trim" => Some(Function::Trim),
        _ => None,
    };
    if let Some(function) = function.filter(|_| behind.trim_start().starts_with('(')) {
        return Some(Token::Function(function));
    }
    Some(match word {
        "and" => Token::And,
        "or" => Token::Or,
        "not" => Token::Not,
        "true" => Token::Bool(true),
        "false" => Token::Bool(false),
        "null" | "nil" => Token::Null,
        "contains" => Token::Operator(Operator::Contains),
        "startsWith" | "starts_with" => Token::Operator(Operator::StartsWith),
        "endsWith" | "ends_with" => Token::Operator(Operator::EndsWith),
        "in" => Token::Operator(Operator::In),
        _ => return None,
    })
}

/// Reads a number, unless it is the beginning of a name such as `1st`.
fn number(text: &str) -> Option<(f64, usize)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let sign = usize::from(text.starts_with('-'));
    let mut length = sign + digits(&text[sign..]);
    if length == sign {
        return None;
    }
    if let Some(fraction) = text[length..].strip_prefix('.') {
        match digits(fraction) {
            0 => return None,
            count => length += 1 + count,
        }
    }
    let is_name = text[length..]
        .starts_with(|letter: char| letter.is_ascii_alphanumeric() || "_-.[".contains(letter));
    if is_name {
        return None;
    }
    Some((text[..length].parse().ok()?, length))
}

/// Reads a text in quotes. What is in it may be a template.
fn quoted(text: &str, at: usize) -> Result<(Token, usize), Error> {
    let quote = text.chars().next().unwrap_or_default();
    let mut content = String::new();
    let mut letters = text.char_indices().skip(1);
    while let Some((index, letter)) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some((_, 'n')) => content.push('\n'),
                Some((_, 't')) => content.push('\t'),
                // It keeps its meaning for the template.
                Some((_, '{')) => content.push_str("\\{"),
                Some((_, escaped)) => content.push(escaped),
                None => break,
            },
            letter if letter == quote => {
                let template =
                    Template::parse(&content).map_err(|error| malformed(at, error.to_string()))?;
                return Ok((Token::Text(template), index + letter.len_utf8()));
            }
            letter => content.push(letter),
        }
    }
    Err(malformed(at, format!("the text that begins with {quote} does not end")))
}

pub(super) const fn malformed(at: usize, what: String) -> Error {
    Error::Malformed { at, what }
}
