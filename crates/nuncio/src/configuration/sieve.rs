//! A document without what stands at some keys.
//!
//! A reader of typed values stops at the first mistake. [`Notes`] remember at which key that
//! was; when the document is read again, what stands there is passed over, and the next mistake
//! shows.

use std::{cell::RefCell, collections::BTreeSet, fmt};

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, IntoDeserializer as _, MapAccess,
    SeqAccess, Visitor,
};

/// What the YAML reader calls a value together with its place.
const SPANNED: &str = "__yaml_spanned";

/// What is passed over, and where reading has failed.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Keys such as `agents[0].url`.
    pub(super) left_out: BTreeSet<String>,
    failed: RefCell<Option<String>>,
}

impl Notes {
    pub(super) fn new(left_out: BTreeSet<String>) -> Self {
        Self { left_out, failed: RefCell::default() }
    }

    /// Returns the key at which reading has failed; empty for the whole document.
    pub(super) fn take_failed(&self) -> String {
        self.failed.take().unwrap_or_default()
    }

    /// Keeps the innermost key, which is told first.
    fn at<T, E>(&self, key: &str, result: Result<T, E>) -> Result<T, E> {
        if result.is_err() {
            self.failed.borrow_mut().get_or_insert_with(|| key.to_owned());
        }
        result
    }
}

/// Where a reader is.
#[derive(Clone, Debug)]
struct Place<'n> {
    notes: &'n Notes,
    key: String,
    /// Whether members here are those of a value with its place, which are no steps.
    is_spanned: bool,
}

impl Place<'_> {
    fn member(&self, name: &str) -> Self {
        let key =
            if self.key.is_empty() { name.to_owned() } else { format!("{}.{name}", self.key) };
        Self { key, ..*self }
    }

    fn element(&self, index: usize) -> Self {
        Self { key: format!("{}[{index}]", self.key), ..*self }
    }

    fn is_left_out(&self) -> bool {
        self.notes.left_out.contains(&self.key)
    }
}

/// A deserializer, or what is made of one, and where it is.
#[derive(Debug)]
pub(super) struct Sieve<'n, T> {
    inner: T,
    place: Place<'n>,
}

impl<'n, D> Sieve<'n, D> {
    /// Reads a whole document.
    pub(super) fn new(inner: D, notes: &'n Notes) -> Self {
        Self { inner, place: Place { notes, key: String::new(), is_spanned: false } }
    }
}

macro_rules! read {
    ($($method:ident($($name:ident: $kind:ty),*);)*) => {$(
        fn $method<V: Visitor<'de>>(
            self,
            $($name: $kind,)*
            visitor: V,
        ) -> Result<V::Value, D::Error> {
            let Self { inner, place } = self;
            inner.$method($($name,)* Sieve { inner: visitor, place })
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Sieve<'_, D> {
    type Error = D::Error;

    read! {
        deserialize_any();
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_i128();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_u128();
        deserialize_f32();
        deserialize_f64();
        deserialize_char();
        deserialize_str();
        deserialize_string();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_option();
        deserialize_unit();
        deserialize_seq();
        deserialize_map();
        deserialize_identifier();
        deserialize_ignored_any();
        deserialize_unit_struct(name: &'static str);
        deserialize_tuple(length: usize);
        deserialize_tuple_struct(name: &'static str, length: usize);
        deserialize_struct(name: &'static str, fields: &'static [&'static str]);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let Self { inner, place } = self;
        let place = Place { is_spanned: name == SPANNED, ..place };
        inner.deserialize_newtype_struct(name, Sieve { inner: visitor, place })
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! visit {
    ($($method:ident($kind:ty);)*) => {$(
        fn $method<E: Error>(self, value: $kind) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Sieve<'_, V> {
    type Value = V::Value;

    visit! {
        visit_bool(bool);
        visit_i8(i8);
        visit_i16(i16);
        visit_i32(i32);
        visit_i64(i64);
        visit_i128(i128);
        visit_u8(u8);
        visit_u16(u16);
        visit_u32(u32);
        visit_u64(u64);
        visit_u128(u128);
        visit_f32(f32);
        visit_f64(f64);
        visit_char(char);
        visit_str(&str);
        visit_borrowed_str(&'de str);
        visit_string(String);
        visit_bytes(&[u8]);
        visit_borrowed_bytes(&'de [u8]);
        visit_byte_buf(Vec<u8>);
    }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Sieve { inner, place: self.place })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Sieve { inner, place: self.place })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let Self { inner: visitor, place } = self;
        let elements = Elements { inner, place: place.clone(), next: 0 };
        place.notes.at(&place.key, visitor.visit_seq(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let Self { inner: visitor, place } = self;
        let members = Members { inner, current: place.clone(), place: place.clone() };
        place.notes.at(&place.key, visitor.visit_map(members))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(data)
    }
}

/// Reads a value, and notes if that fails.
impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Sieve<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        let Self { inner: seed, place } = self;
        place.notes.at(&place.key, seed.deserialize(Sieve { inner, place: place.clone() }))
    }
}

struct Elements<'n, A> {
    inner: A,
    place: Place<'n>,
    next: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Elements<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        loop {
            let place = self.place.element(self.next);
            self.next += 1;
            if !place.is_left_out() {
                return self.inner.next_element_seed(Sieve { inner: seed, place });
            }
            if place.notes.at(&place.key, self.inner.next_element::<IgnoredAny>())?.is_none() {
                return Ok(None);
            }
        }
    }
}

struct Members<'n, A> {
    inner: A,
    place: Place<'n>,
    /// Where the value stands whose key was read last.
    current: Place<'n>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Members<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        if self.place.is_spanned {
            self.current = Place { is_spanned: false, ..self.place.clone() };
            return self.inner.next_key_seed(seed);
        }
        loop {
            let Some(name) = self.inner.next_key::<String>()? else { return Ok(None) };
            self.current = self.place.member(&name);
            let place = &self.current;
            if !place.is_left_out() {
                let read = seed.deserialize(name.into_deserializer());
                return place.notes.at(&place.key, read).map(Some);
            }
            place.notes.at(&place.key, self.inner.next_value::<IgnoredAny>())?;
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(Sieve { inner: seed, place: self.current.clone() })
    }
}
