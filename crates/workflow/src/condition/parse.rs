//! From words to an expression.
//!
//! ```text
//! any     = all { ("or" | "||") all }
//! all     = not { ("and" | "&&") not }
//! not     = ("not" | "!") not | compare
//! compare = value [ ["not"] operator value ]
//! value   = "(" any ")" | "[" [ any { "," any } ] "]" | function "(" any ")" | literal | reference
//! ```

use super::{
    Error, Expression, MAX_CONDITION_BYTES, MAX_DEPTH, Operator,
    lex::{Token, malformed, words},
};

pub(super) fn parse(text: &str) -> Result<Expression, Error> {
    if text.len() > MAX_CONDITION_BYTES {
        return Err(Error::TooLarge { what: format!("longer than {MAX_CONDITION_BYTES} bytes") });
    }
    let mut parser = Parser { words: words(text)?, next: 0, depth: 0, end: text.len() };
    let expression = parser.any()?;
    match parser.words.get(parser.next) {
        None => Ok(expression),
        Some((at, token)) => {
            let what = match token {
                Token::Close => "there is no parenthesis to close",
                _ => "expected `and`, `or` or the end",
            };
            Err(malformed(*at, what.to_owned()))
        }
    }
}

struct Parser {
    words: Vec<(usize, Token)>,
    next: usize,
    depth: usize,
    end: usize,
}

impl Parser {
    fn any(&mut self) -> Result<Expression, Error> {
        self.deeper(|parser| parser.chain(&Token::Or, Self::all, Expression::Any))
    }

    fn all(&mut self) -> Result<Expression, Error> {
        self.chain(&Token::And, Self::not, Expression::All)
    }

    /// Reads what stands between equal words, in one flat list.
    fn chain(
        &mut self,
        between: &Token,
        each: fn(&mut Self) -> Result<Expression, Error>,
        join: fn(Vec<Expression>) -> Expression,
    ) -> Result<Expression, Error> {
        let first = each(self)?;
        if self.peek() != Some(between) {
            return Ok(first);
        }
        let mut chain = vec![first];
        while self.peek() == Some(between) {
            self.next += 1;
            chain.push(each(self)?);
        }
        Ok(join(chain))
    }

    fn not(&mut self) -> Result<Expression, Error> {
        let mut is_negated = false;
        while self.peek() == Some(&Token::Not) {
            self.next += 1;
            is_negated = !is_negated;
        }
        let inner = self.compare()?;
        Ok(if is_negated { Expression::Not(Box::new(inner)) } else { inner })
    }

    fn compare(&mut self) -> Result<Expression, Error> {
        let left = self.value()?;
        let is_word = |token: Option<&(usize, Token)>| match token {
            Some((_, Token::Operator(operator))) => Some(*operator),
            _ => None,
        };
        let is_negated = self.peek() == Some(&Token::Not)
            && is_word(self.words.get(self.next + 1)).is_some_and(Operator::is_word);
        self.next += usize::from(is_negated);
        let Some(operator) = is_word(self.words.get(self.next)) else { return Ok(left) };
        self.next += 1;
        let right = self.value()?;
        if let Some((at, Token::Operator(_))) = self.words.get(self.next) {
            let what = "join comparisons with `and` or `or`";
            return Err(malformed(*at, what.to_owned()));
        }
        let compare = Expression::Compare(operator, Box::new((left, right)));
        Ok(if is_negated { Expression::Not(Box::new(compare)) } else { compare })
    }

    fn value(&mut self) -> Result<Expression, Error> {
        let Some((at, token)) = self.words.get(self.next).cloned() else {
            return Err(malformed(self.end, "expected a value".to_owned()));
        };
        self.next += 1;
        Ok(match token {
            Token::Null => Expression::Null,
            Token::Bool(value) => Expression::Bool(value),
            Token::Number(number) => Expression::Number(number),
            Token::Text(template) => Expression::Text(template),
            Token::Reference(reference) => Expression::Reference(reference),
            Token::Open => {
                let inner = self.any()?;
                self.expect(&Token::Close, "`)`")?;
                inner
            }
            Token::Function(function) => {
                self.expect(&Token::Open, "`(`")?;
                let inner = self.any()?;
                self.expect(&Token::Close, "`)`")?;
                Expression::Call(function, Box::new(inner))
            }
            Token::OpenList => {
                let mut items = Vec::new();
                while self.peek() != Some(&Token::CloseList) {
                    items.push(self.any()?);
                    if self.peek() != Some(&Token::CloseList) {
                        self.expect(&Token::Comma, "`,` or `]`")?;
                    }
                }
                self.next += 1;
                Expression::List(items)
            }
            _ => return Err(malformed(at, "expected a value".to_owned())),
        })
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::TooLarge { what: format!("nested deeper than {MAX_DEPTH} levels") });
        }
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn peek(&self) -> Option<&Token> {
        self.words.get(self.next).map(|(_, token)| token)
    }

    fn expect(&mut self, token: &Token, name: &str) -> Result<(), Error> {
        if self.peek() == Some(token) {
            self.next += 1;
            return Ok(());
        }
        let at = self.words.get(self.next).map_or(self.end, |(at, _)| *at);
        Err(malformed(at, format!("expected {name}")))
    }
}

impl Operator {
    /// Tells whether it is a word, which may have `not` before it.
    const fn is_word(self) -> bool {
        matches!(self, Self::Contains | Self::StartsWith | Self::EndsWith | Self::In)
    }
}
