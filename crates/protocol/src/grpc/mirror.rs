//! The field tables once more, as pairs of protobuf message and model: one line a field, both
//! directions from the same line.

use std::{collections::BTreeMap, str::FromStr};

use crate::{ids::InvalidId, json::Error};

/// Converts a protobuf message, of one version or of several alike, into a type of the model
/// and back.
///
/// A line reads `field: kind "jsonName"`. The kinds are `same` (equal on both sides), `text`
/// (a text that must not be empty), `key` (an identifier that must be there), `id` (an
/// optional identifier, for which empty means unset), `ids` (a list of identifiers), `number`
/// (an enumeration), `required` (a message that must be there), `optional` (a message),
/// `boxed` (the same in a box), `default` (a message whose absence means its default), `list`
/// and `map` (of messages).
///
/// Protobuf cannot tell an empty text from an absent one, so where JSON refuses absence, `text`
/// and `key` refuse both.
macro_rules! mirror {
    ($($version:ident)+ : $proto:ident = $model:ident $table:tt) => {
        $($crate::grpc::mirror::mirror!(@pair $version::$proto, $model, $table);)+
    };

    (@pair $proto:ty, $model:ident, {
        $($field:ident: $kind:ident $($json:literal)?,)*
    }) => {
        impl From<$model> for $proto {
            fn from(model: $model) -> Self {
                Self { $($field: $crate::grpc::mirror::mirror!(@write $kind model.$field),)* }
            }
        }

        impl TryFrom<$proto> for $model {
            type Error = $crate::json::Error;

            fn try_from(proto: $proto) -> Result<Self, $crate::json::Error> {
                Ok(Self {
                    $($field: $crate::grpc::mirror::mirror!(
                        @read $kind proto.$field $(, $json)?
                    ),)*
                })
            }
        }
    };

    (@write same $value:expr) => { $value };
    (@write text $value:expr) => { $value };
    (@write key $value:expr) => { $value.as_ref().to_owned() };
    (@write id $value:expr) => { $crate::grpc::mirror::write_id($value.as_ref()) };
    (@write ids $value:expr) => {
        $value.iter().map(|id| id.as_ref().to_owned()).collect()
    };
    (@write number $value:expr) => { $value.number() };
    (@write required $value:expr) => { Some($value.into()) };
    (@write optional $value:expr) => { $value.map(Into::into) };
    (@write boxed $value:expr) => { $value.map(|value| (*value).into()) };
    (@write default $value:expr) => { Some($value.into()) };
    (@write list $value:expr) => { $crate::grpc::mirror::write_list($value) };
    (@write map $value:expr) => {
        $value.into_iter().map(|(key, value)| (key, value.into())).collect()
    };

    (@read same $value:expr) => { $value };
    (@read text $value:expr, $json:literal) => {
        $crate::grpc::mirror::read_text($value, $json)?
    };
    (@read key $value:expr, $json:literal) => {
        $crate::grpc::mirror::read_key(&$value, $json)?
    };
    (@read id $value:expr, $json:literal) => {
        $crate::grpc::mirror::read_id(&$value, $json)?
    };
    (@read ids $value:expr, $json:literal) => {
        $crate::grpc::mirror::read_ids(&$value, $json)?
    };
    (@read number $value:expr, $json:literal) => {
        $value.try_into().map_err(|error: $crate::json::Error| error.inside($json))?
    };
    (@read required $value:expr, $json:literal) => {
        $crate::grpc::mirror::read_required($value, $json)?
    };
    (@read optional $value:expr, $json:literal) => {
        $crate::grpc::mirror::read_optional($value, $json)?
    };
    (@read boxed $value:expr, $json:literal) => {
        $crate::grpc::mirror::read_optional($value, $json)?.map(Box::new)
    };
    (@read default $value:expr, $json:literal) => {
        $crate::grpc::mirror::read_optional($value, $json)?.unwrap_or_default()
    };
    (@read list $value:expr, $json:literal) => {
        $crate::grpc::mirror::read_list($value, $json)?
    };
    (@read map $value:expr, $json:literal) => {
        $crate::grpc::mirror::read_map($value, $json)?
    };
}

/// Converts a protobuf message that is nothing but a oneof into a union of the model and back.
///
/// A line reads `ProtobufVariant = ModelVariant "jsonName"`.
macro_rules! mirror_union {
    (
        $version:ident: $proto:ident . $oneof:ident : $module:ident :: $kind:ident = $model:ident {
            $($theirs:ident = $ours:ident $json:literal,)*
        }
    ) => {
        impl From<$model> for $version::$proto {
            fn from(model: $model) -> Self {
                use $version::$module::$kind;
                let value = match model {
                    $($model::$ours(value) => $kind::$theirs(value.into()),)*
                };
                Self { $oneof: Some(value) }
            }
        }

        impl TryFrom<$version::$proto> for $model {
            type Error = $crate::json::Error;

            fn try_from(proto: $version::$proto) -> Result<Self, $crate::json::Error> {
                use $version::$module::$kind;
                const NAMES: &str = concat!($("`", $json, "` "),*);
                match proto.$oneof {
                    $(Some($kind::$theirs(value)) => {
                        $crate::grpc::mirror::read_inside(value, $json).map(Self::$ours)
                    })*
                    None => Err($crate::grpc::mirror::needs_one_of(NAMES)),
                }
            }
        }
    };
}

pub(super) use {mirror, mirror_union};

/// Says that a oneof is empty, in the words of the JSON reader.
pub(super) fn needs_one_of(names: &str) -> Error {
    Error::shape(format!("needs one of {}", names.trim_end()))
}

/// Reads the value of a named field.
pub(super) fn read_inside<P, M: TryFrom<P, Error = Error>>(
    value: P,
    name: &str,
) -> Result<M, Error> {
    M::try_from(value).map_err(|error| error.inside(name))
}

/// Reads a text that must not be empty.
pub(super) fn read_text(text: String, name: &str) -> Result<String, Error> {
    if text.is_empty() { Err(Error::missing(name)) } else { Ok(text) }
}

/// Reads an identifier that must be there.
pub(super) fn read_key<T: FromStr<Err = InvalidId>>(text: &str, name: &str) -> Result<T, Error> {
    read_id(text, name)?.ok_or_else(|| Error::missing(name))
}

/// Reads an optional identifier.
pub(super) fn read_id<T: FromStr<Err = InvalidId>>(
    text: &str,
    name: &str,
) -> Result<Option<T>, Error> {
    if text.is_empty() {
        return Ok(None);
    }
    parse_id(text).map(Some).map_err(|error| error.inside(name))
}

/// Reads a list of identifiers.
pub(super) fn read_ids<T: FromStr<Err = InvalidId>>(
    texts: &[String],
    name: &str,
) -> Result<Vec<T>, Error> {
    let ids = texts.iter().enumerate();
    ids.map(|(index, text)| parse_id(text).map_err(|error| error.at_index(index).inside(name)))
        .collect()
}

fn parse_id<T: FromStr<Err = InvalidId>>(text: &str) -> Result<T, Error> {
    text.parse().map_err(|error: InvalidId| Error::shape(error.to_string()))
}

/// Reads a message that must be there.
pub(super) fn read_required<P, M: TryFrom<P, Error = Error>>(
    message: Option<P>,
    name: &str,
) -> Result<M, Error> {
    read_inside(message.ok_or_else(|| Error::missing(name))?, name)
}

/// Reads a message that may be absent.
pub(super) fn read_optional<P, M: TryFrom<P, Error = Error>>(
    message: Option<P>,
    name: &str,
) -> Result<Option<M>, Error> {
    message.map(|message| read_inside(message, name)).transpose()
}

/// Reads a list of messages.
pub(super) fn read_list<P, M: TryFrom<P, Error = Error>>(
    messages: Vec<P>,
    name: &str,
) -> Result<Vec<M>, Error> {
    let messages = messages.into_iter().enumerate();
    messages
        .map(|(index, message)| {
            M::try_from(message).map_err(|error| error.at_index(index).inside(name))
        })
        .collect()
}

/// Reads a map of messages.
pub(super) fn read_map<P, M: TryFrom<P, Error = Error>>(
    messages: BTreeMap<String, P>,
    name: &str,
) -> Result<BTreeMap<String, M>, Error> {
    let messages = messages.into_iter();
    messages
        .map(|(key, message)| {
            let message = read_inside(message, &key).map_err(|error| error.inside(name))?;
            Ok((key, message))
        })
        .collect()
}

/// Writes an optional identifier: unset is empty.
pub(super) fn write_id(id: Option<&impl AsRef<str>>) -> String {
    id.map_or_else(String::new, |id| id.as_ref().to_owned())
}

/// Writes a list of messages.
pub(super) fn write_list<M, P: From<M>>(models: Vec<M>) -> Vec<P> {
    models.into_iter().map(P::from).collect()
}
