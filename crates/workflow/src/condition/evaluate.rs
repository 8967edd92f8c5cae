//! Whether an expression holds.
//!
//! A text that is a number counts as one beside a number, and `true` and `false` count as such
//! beside those: models answer in text. White space around a text does not count when texts are
//! compared.

use std::{borrow::Cow, cmp::Ordering};

use nuncio_protocol::json::Raw;

use super::{Error, Expression, Function, Operator};
use crate::template::{self, Limits, Resolved, Scope, elements, sort};

/// A value while it is looked at.
#[derive(Clone, Debug)]
enum Value<'a> {
    Null,
    Bool(bool),
    Number(f64),
    Text(Cow<'a, str>),
    List(Vec<Self>),
    /// A JSON object.
    Object(Raw),
}

pub(super) fn holds<S: Scope + ?Sized>(expression: &Expression, scope: &S) -> Result<bool, Error> {
    Ok(evaluate(expression, scope)?.is_true())
}

fn evaluate<'a, S: Scope + ?Sized>(
    expression: &'a Expression,
    scope: &'a S,
) -> Result<Value<'a>, Error> {
    Ok(match expression {
        Expression::Null => Value::Null,
        Expression::Bool(value) => Value::Bool(*value),
        Expression::Number(number) => Value::Number(*number),
        Expression::Text(template) => {
            Value::Text(template.render_text(scope, Limits::default())?.into())
        }
        Expression::Reference(reference) => match template::resolve(reference, scope) {
            Ok(resolved) => Value::of(resolved),
            // To ask for a member that may not be there is what conditions are for.
            Err(template::Error::Missing { .. }) => Value::Null,
            Err(error) => return Err(error.into()),
        },
        Expression::List(items) => {
            let items = items.iter().map(|item| evaluate(item, scope));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        Expression::Not(inner) => Value::Bool(!evaluate(inner, scope)?.is_true()),
        Expression::All(all) => {
            for each in all {
                if !evaluate(each, scope)?.is_true() {
                    return Ok(Value::Bool(false));
                }
            }
            Value::Bool(true)
        }
        Expression::Any(any) => {
            for each in any {
                if evaluate(each, scope)?.is_true() {
                    return Ok(Value::Bool(true));
                }
            }
            Value::Bool(false)
        }
        Expression::Compare(operator, sides) => {
            let (left, right) = (evaluate(&sides.0, scope)?, evaluate(&sides.1, scope)?);
            Value::Bool(compare(*operator, &left, &right)?)
        }
        Expression::Call(function, inner) => call(*function, &evaluate(inner, scope)?),
    })
}

fn compare(operator: Operator, left: &Value<'_>, right: &Value<'_>) -> Result<bool, Error> {
    Ok(match operator {
        Operator::Equal => left.equals(right),
        Operator::NotEqual => !left.equals(right),
        Operator::Less => left.order(right)?.is_some_and(Ordering::is_lt),
        Operator::LessOrEqual => left.order(right)?.is_some_and(Ordering::is_le),
        Operator::Greater => left.order(right)?.is_some_and(Ordering::is_gt),
        Operator::GreaterOrEqual => left.order(right)?.is_some_and(Ordering::is_ge),
        Operator::Contains => right.is_in(left),
        Operator::In => left.is_in(right),
        Operator::StartsWith => left.to_text().trim_start().starts_with(&*right.to_text()),
        Operator::EndsWith => left.to_text().trim_end().ends_with(&*right.to_text()),
    })
}

#[expect(clippy::cast_precision_loss, reason = "nothing is long enough for it")]
fn call<'a>(function: Function, value: &Value<'a>) -> Value<'a> {
    let text = |change: fn(&str) -> String| Value::Text(change(&value.to_text()).into());
    match function {
        Function::Lower => text(str::to_lowercase),
        Function::Upper => text(str::to_uppercase),
        Function::Trim => text(|text| text.trim().to_owned()),
        Function::Length => Value::Number(match value {
            Value::Null => 0,
            Value::List(items) => items.len(),
            Value::Object(object) => object.as_object().map_or(0, |object| object.members().len()),
            other => other.to_text().chars().count(),
        } as f64),
    }
}

impl<'a> Value<'a> {
    fn of(resolved: Resolved<'a>) -> Self {
        match resolved {
            Resolved::Nothing => Self::Null,
            Resolved::Text(text) => Self::Text(text),
            Resolved::Data(data) => Self::of_json(&data),
            file @ Resolved::File(_) => Self::Text(file.to_text().into_owned().into()),
        }
    }

    fn of_json(data: &Raw) -> Self {
        if let Some(text) = data.as_text() {
            return Self::Text(text.into());
        }
        if let Some(items) = elements(data) {
            return Self::List(items.iter().map(Self::of_json).collect());
        }
        match data.as_str() {
            "null" => Self::Null,
            "true" => Self::Bool(true),
            "false" => Self::Bool(false),
            text => text.parse().map_or_else(|_| Self::Object(data.clone()), Self::Number),
        }
    }

    /// Nothing, no, zero and an empty text are not true; everything else is.
    fn is_true(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => *value,
            Self::Number(number) => *number != 0.0,
            Self::Text(text) => !text.trim().is_empty() && as_bool(text) != Some(false),
            Self::List(items) => !items.is_empty(),
            Self::Object(_) => true,
        }
    }

    fn to_text(&self) -> Cow<'_, str> {
        match self {
            Self::Null => Cow::Borrowed(""),
            Self::Bool(value) => Cow::Owned(value.to_string()),
            Self::Number(number) => Cow::Owned(number.to_string()),
            Self::Text(text) => Cow::Borrowed(text),
            Self::List(items) => {
                let texts: Vec<_> = items.iter().map(Self::to_text).collect();
                Cow::Owned(texts.join("\n"))
            }
            Self::Object(object) => Cow::Borrowed(object.as_str()),
        }
    }

    fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(one), Self::Bool(two)) => one == two,
            (Self::Bool(value), Self::Text(text)) | (Self::Text(text), Self::Bool(value)) => {
                as_bool(text) == Some(*value)
            }
            (Self::Text(one), Self::Text(two)) => one.trim() == two.trim(),
            (Self::List(one), Self::List(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.equals(two))
            }
            (Self::Object(one), Self::Object(two)) => one == two,
            (Self::Number(_), _) | (_, Self::Number(_)) => {
                let (one, two) = (self.number(), other.number());
                one.zip(two)
                    .is_some_and(|(one, two)| one.partial_cmp(&two) == Some(Ordering::Equal))
            }
            _ => false,
        }
    }

    /// Returns which comes first; nothing if one of them is not there.
    fn order(&self, other: &Self) -> Result<Option<Ordering>, Error> {
        let incomparable =
            || Error::Incomparable { left: self.describe(), right: other.describe() };
        match (self, other) {
            (Self::Null, _) | (_, Self::Null) => Ok(None),
            (Self::Text(one), Self::Text(two)) => match (self.number(), other.number()) {
                (Some(one), Some(two)) => Ok(one.partial_cmp(&two)),
                _ => Ok(Some(one.trim().cmp(two.trim()))),
            },
            _ => match (self.number(), other.number()) {
                (Some(one), Some(two)) => Ok(one.partial_cmp(&two)),
                _ => Err(incomparable()),
            },
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
            _ => None,
        }
    }

    /// An element of a list, a member of an object, a piece of a text.
    fn is_in(&self, whole: &Self) -> bool {
        match whole {
            Value::Null => false,
            Value::List(items) => items.iter().any(|item| item.equals(self)),
            Value::Object(object) => {
                let name = self.to_text();
                object.as_object().is_some_and(|object| object.get(&name).is_some())
            }
            text => !matches!(self, Value::Null) && text.to_text().contains(&*self.to_text()),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Null => "nothing".to_owned(),
            Self::Bool(_) => "true or false".to_owned(),
            Self::Number(number) => format!("the number {number}"),
            Self::Text(text) => {
                let beginning: String = text.chars().take(40).collect();
                format!("the text `{beginning}`")
            }
            Self::List(_) => "a list".to_owned(),
            Self::Object(object) => sort(object).to_owned(),
        }
    }
}

fn as_bool(text: &str) -> Option<bool> {
    match text.trim() {
        text if text.eq_ignore_ascii_case("true") => Some(true),
        text if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}
