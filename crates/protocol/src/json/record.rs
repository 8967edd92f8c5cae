//! The field tables of A2A as code: one line a field, reader and writer from the same line.

use std::collections::BTreeMap;

use super::{Error, FromJson, Reader};

/// A type whose default means "absent" on the wire.
pub(crate) trait Implicit: Default {
    fn is_absent(&self) -> bool;
}

impl Implicit for String {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl Implicit for bool {
    fn is_absent(&self) -> bool {
        !self
    }
}

impl Implicit for i32 {
    fn is_absent(&self) -> bool {
        *self == 0
    }
}

impl Implicit for crate::state::TaskState {
    fn is_absent(&self) -> bool {
        *self == Self::default()
    }
}

impl<T> Implicit for Vec<T> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<T> Implicit for BTreeMap<String, T> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

/// Reads a value; `null` counts as absent.
pub(crate) fn read_value<T: FromJson>(reader: &mut Reader<'_>) -> Result<Option<T>, Error> {
    if reader.null()? { Ok(None) } else { T::read(reader).map(Some) }
}

/// Reads an identifier; `null` and the empty text count as absent.
pub(crate) fn read_id<T: FromJson>(reader: &mut Reader<'_>) -> Result<Option<T>, Error> {
    if reader.null()? {
        return Ok(None);
    }
    if reader.next_is_empty_string()? {
        reader.skip()?;
        return Ok(None);
    }
    T::read(reader).map(Some)
}

/// Defines a message of the protocol with its JSON form.
///
/// A field reads `name: Type = presence "jsonName" | "proto_name"`. The presences are those of
/// the field tables: `required` (must be there, always written), `optional` (an `Option`,
/// written when set), `id` (an optional identifier, for which empty means unset), `implicit`
/// (absent means default, default is not written), `always` (absent means default, always
/// written).
macro_rules! record {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[$field_meta:meta])*
                $field:ident: $type:ty = $presence:ident $json:literal $(| $proto:literal)?,
            )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $crate::json::FromJson for $name {
            fn read(
                reader: &mut $crate::json::Reader<'_>,
            ) -> Result<Self, $crate::json::Error> {
                #[allow(non_camel_case_types, reason = "named after the fields")]
                enum Number { $($field),* }
                $(let mut $field: Option<$type> = None;)*
                let mut fields = reader.begin_object()?;
                while let Some(key) = reader.next_key(&mut fields)? {
                    match &*key {
                        $($json $(| $proto)? => {
                            reader.known(&mut fields, Number::$field as u32, &key)?;
                            $field = $crate::json::record!(@read $presence reader)
                                .map_err(|error: $crate::json::Error| error.inside(&key))?;
                        })*
                        _ => reader.skip_member(&mut fields, &key)?,
                    }
                }
                Ok(Self { $($field: $crate::json::record!(@take $presence $field, $json),)* })
            }
        }

        impl $crate::json::ToJson for $name {
            fn write(&self, writer: &mut $crate::json::Writer) {
                writer.object(|object| {
                    $($crate::json::record!(@write $presence object, $json, self.$field);)*
                });
            }

            fn weight(&self) -> usize {
                1 $(+ $crate::json::record!(@weigh $presence $json, self.$field))*
            }
        }

        $crate::json::serde_via_json!($name);
    };

    (@read required $reader:ident) => { $crate::json::read_value($reader) };
    (@read implicit $reader:ident) => { $crate::json::read_value($reader) };
    (@read always $reader:ident) => { $crate::json::read_value($reader) };
    (@read optional $reader:ident) => { $crate::json::read_value($reader).map(Some) };
    (@read id $reader:ident) => { $crate::json::read_id($reader).map(Some) };

    (@take required $field:ident, $json:literal) => {
        $field.ok_or_else(|| $crate::json::Error::missing($json))?
    };
    (@take $presence:ident $field:ident, $json:literal) => { $field.unwrap_or_default() };

    (@weigh required $json:literal, $value:expr) => {
        concat!("\"", $json, "\":,").len() + $crate::json::ToJson::weight(&$value)
    };
    (@weigh always $json:literal, $value:expr) => {
        $crate::json::record!(@weigh required $json, $value)
    };
    (@weigh implicit $json:literal, $value:expr) => {
        if $crate::json::Implicit::is_absent(&$value) {
            0
        } else {
            $crate::json::record!(@weigh required $json, $value)
        }
    };
    (@weigh $presence:ident $json:literal, $value:expr) => {
        $value.as_ref().map_or(0, |value| $crate::json::record!(@weigh required $json, *value))
    };

    (@write required $object:ident, $json:literal, $value:expr) => {
        $object.field(concat!("\"", $json, "\":"), &$value)
    };
    (@write always $object:ident, $json:literal, $value:expr) => {
        $object.field(concat!("\"", $json, "\":"), &$value)
    };
    (@write implicit $object:ident, $json:literal, $value:expr) => {
        if !$crate::json::Implicit::is_absent(&$value) {
            $object.field(concat!("\"", $json, "\":"), &$value);
        }
    };
    (@write optional $object:ident, $json:literal, $value:expr) => {
        if let Some(value) = &$value {
            $object.field(concat!("\"", $json, "\":"), value);
        }
    };
    (@write id $object:ident, $json:literal, $value:expr) => {
        if let Some(value) = &$value {
            $object.field(concat!("\"", $json, "\":"), value);
        }
    };
}

/// Defines an enumeration of the protocol: written by name, read by name or number.
macro_rules! proto_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $number:literal $text:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_meta])* $variant = $number,)*
        }

        impl $name {
            /// Every value, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Returns the number on the wire.
            pub const fn number(self) -> i32 {
                self as i32
            }

            /// Finds the value by its name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)* _ => None }
            }

            /// Finds the value by its number.
            pub const fn from_number(number: i32) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)* _ => None }
            }

            fn unknown(value: &str) -> $crate::json::Error {
                let names: Vec<&str> = Self::ALL.iter().map(|value| value.as_str()).collect();
                $crate::json::Error::shape(format!(
                    "`{value}` is not one of {}",
                    names.join(", "),
                ))
            }
        }

        impl $crate::json::FromJson for $name {
            fn read(
                reader: &mut $crate::json::Reader<'_>,
            ) -> Result<Self, $crate::json::Error> {
                if reader.peek()? == $crate::json::Kind::Number {
                    return reader.int32()?.try_into();
                }
                let name = reader.string()?;
                Self::from_name(&name).ok_or_else(|| Self::unknown(&name))
            }
        }

        impl TryFrom<i32> for $name {
            type Error = $crate::json::Error;

            fn try_from(number: i32) -> Result<Self, $crate::json::Error> {
                Self::from_number(number).ok_or_else(|| Self::unknown(&number.to_string()))
            }
        }

        impl $crate::json::ToJson for $name {
            fn write(&self, writer: &mut $crate::json::Writer) {
                writer.plain(self.as_str());
            }

            fn weight(&self) -> usize {
                self.as_str().len() + 2
            }
        }

        $crate::json::serde_via_json!($name);
    };
}

/// Defines a oneof: an object with exactly one of the members, the name telling which.
macro_rules! proto_union {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident($type:ty) = $json:literal $(| $proto:literal)?,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[allow(clippy::large_enum_variant, reason = "moved rarely, matched always")]
        pub enum $name {
            $($(#[$variant_meta])* $variant($type),)*
        }

        impl $crate::json::FromJson for $name {
            fn read(
                reader: &mut $crate::json::Reader<'_>,
            ) -> Result<Self, $crate::json::Error> {
                #[allow(non_camel_case_types, reason = "named after the variants")]
                enum Number { $($variant),* }
                const NAMES: &str = concat!($("`", $json, "` "),*);
                let mut found = None;
                let mut fields = reader.begin_object()?;
                while let Some(key) = reader.next_key(&mut fields)? {
                    let value = match &*key {
                        $($json $(| $proto)? => {
                            reader.known(&mut fields, Number::$variant as u32, &key)?;
                            $crate::json::read_value(reader).map(|value| value.map(Self::$variant))
                        })*
                        _ => {
                            reader.skip_member(&mut fields, &key)?;
                            continue;
                        }
                    };
                    if let Some(value) = value.map_err(|error| error.inside(&key))? {
                        if found.is_some() {
                            return Err($crate::json::Error::shape(
                                format!("has more than one of {}", NAMES.trim_end()),
                            ));
                        }
                        found = Some(value);
                    }
                }
                found.ok_or_else(|| {
                    $crate::json::Error::shape(format!("needs one of {}", NAMES.trim_end()))
                })
            }
        }

        impl $crate::json::ToJson for $name {
            fn write(&self, writer: &mut $crate::json::Writer) {
                writer.object(|object| match self {
                    $(Self::$variant(value) => {
                        object.field(concat!("\"", $json, "\":"), value);
                    })*
                });
            }

            fn weight(&self) -> usize {
                match self {
                    $(Self::$variant(value) => {
                        concat!("{\"", $json, "\":}").len() + $crate::json::ToJson::weight(value)
                    })*
                }
            }
        }

        $crate::json::serde_via_json!($name);
    };
}

/// Gives a type `serde`'s traits by way of its JSON text.
macro_rules! serde_via_json {
    ($name:ty) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::json::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::json::deserialize(deserializer)
            }
        }
    };
}

pub(crate) use {proto_enum, proto_union, record, serde_via_json};
