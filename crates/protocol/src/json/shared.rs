//! A value and its text, each made from the other once.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;

use super::{Error, FromJson, ToJson, from_slice, to_bytes};

/// A value and its JSON text, shared by everybody who reads either.
///
/// An event of a task has many readers. Those who pass on its text never pay for reading it,
/// those who look inside never pay for writing it, and whoever comes first pays for all.
pub struct Shared<T>(Arc<Inner<T>>);

struct Inner<T> {
    value: OnceLock<Result<T, Error>>,
    json: OnceLock<Bytes>,
}

impl<T: FromJson + ToJson> Shared<T> {
    /// Shares a value. Its text is written when somebody asks for it.
    pub fn new(value: T) -> Self {
        Self(Arc::new(Inner { value: OnceLock::from(Ok(value)), json: OnceLock::new() }))
    }

    /// Shares a text that was written from such a value. It is read when somebody asks for the
    /// value.
    pub fn from_json(json: Bytes) -> Self {
        Self(Arc::new(Inner { value: OnceLock::new(), json: OnceLock::from(json) }))
    }

    /// Shares a value and the text that it was read from.
    pub fn with_json(value: T, json: Bytes) -> Self {
        Self(Arc::new(Inner { value: OnceLock::from(Ok(value)), json: OnceLock::from(json) }))
    }

    /// Returns the value, or what is wrong with the text it was to be read from.
    pub fn value(&self) -> Result<&T, Error> {
        let value = self.0.value.get_or_init(|| match self.0.json.get() {
            Some(json) => from_slice(json),
            // Unreachable: there is always the one or the other.
            None => Err(Error::shape("neither value nor text")),
        });
        value.as_ref().map_err(Clone::clone)
    }

    /// Returns the value, without a copy if nobody else shares it.
    pub fn into_value(self) -> Result<T, Error>
    where
        T: Clone,
    {
        self.value()?;
        match Arc::try_unwrap(self.0) {
            Ok(inner) => inner
                .value
                .into_inner()
                // Unreachable: it has just been read.
                .unwrap_or_else(|| Err(Error::shape("neither value nor text"))),
            Err(shared) => Self(shared).value().cloned(),
        }
    }

    /// Returns about how long the text is, without writing it.
    pub fn weight(&self) -> usize {
        match (self.0.json.get(), self.0.value.get()) {
            (None, Some(Ok(value))) => value.weight(),
            (json, _) => json.map_or(0, Bytes::len),
        }
    }

    /// Tells whether anybody has written the text, or brought it.
    pub fn is_written(&self) -> bool {
        self.0.json.get().is_some()
    }

    /// Returns the text.
    pub fn json(&self) -> &Bytes {
        self.0.json.get_or_init(|| match self.0.value.get() {
            Some(Ok(value)) => to_bytes(value),
            // Unreachable: a value that could not be read has its text.
            Some(Err(_)) | None => Bytes::new(),
        })
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: FromJson + ToJson> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.json()))
    }
}

impl<T: FromJson + ToJson + PartialEq> PartialEq for Shared<T> {
    /// Most texts come from one writer and are equal if the values are; others may have their
    /// members in another order.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || self.json() == other.json()
            || self.value().is_ok_and(|value| other.value() == Ok(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;

    #[test]
    fn text_is_written_once_for_all_who_share_it() {
        let first = Shared::new(Message::user("hello"));
        let second = first.clone();
        assert_eq!(first.json().as_ptr(), second.json().as_ptr());
    }

    #[test]
    fn a_text_comes_back_as_it_went_in_and_is_read_on_demand() {
        let message = Message::user("hello");
        let text = to_bytes(&message);
        let shared = Shared::<Message>::from_json(text.clone());
        assert_eq!(shared.json().as_ptr(), text.as_ptr());
        assert_eq!(shared.value(), Ok(&message));
    }

    #[test]
    fn a_value_keeps_the_text_that_it_was_read_from() {
        let text =
            Bytes::from_static(br#"{"x": {"messageId":"m","role":"ROLE_USER","parts":[]} }"#);
        let mut found = None;
        let read = crate::json::read_with(std::str::from_utf8(&text).unwrap(), |reader| {
            reader.members(|reader, _| {
                found = Some(reader.with_text(Message::read)?);
                Ok(())
            })
        });
        read.unwrap();
        let (message, inner) = found.unwrap();
        assert_eq!(inner, r#"{"messageId":"m","role":"ROLE_USER","parts":[]}"#);
        let shared = Shared::with_json(message.clone(), text.slice_ref(inner.as_bytes()));
        assert_eq!((shared.value(), &shared.json()[..]), (Ok(&message), inner.as_bytes()));
    }

    #[test]
    fn the_order_of_members_makes_no_difference() {
        let shared = |text: &'static str| Shared::<Message>::from_json(Bytes::from(text));
        let message = shared(r#"{"messageId":"m","role":"ROLE_USER","parts":[]}"#);
        assert_eq!(message, shared(r#"{"role":"ROLE_USER","messageId":"m","parts":[]}"#));
        assert_ne!(message, shared(r#"{"messageId":"n","role":"ROLE_USER","parts":[]}"#));
        assert_ne!(message, shared("{"));
    }

    #[test]
    fn a_spoilt_text_is_an_error_and_not_a_panic() {
        let shared = Shared::<Message>::from_json(Bytes::from_static(b"{\"messageId\":"));
        assert!(shared.value().is_err());
        assert_eq!(shared.json().as_ref(), b"{\"messageId\":");
    }
}
