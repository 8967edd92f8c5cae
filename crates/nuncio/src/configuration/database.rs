//! Where everything is kept.

use std::{borrow::Cow, str::FromStr};

use nuncio_net::Secret;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{InvalidValue, SecretText};

/// Where everything is kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Database {
    /// In a file in the data folder.
    Sqlite,
    /// In memory, and lost at the end.
    Memory,
    /// In a Postgres database. The URL may hold a password.
    Postgres(SecretText),
}

impl FromStr for Database {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text {
            "sqlite" => Ok(Self::Sqlite),
            "memory" => Ok(Self::Memory),
            _ if text.starts_with("postgres://") || text.starts_with("postgresql://") => {
                Ok(Self::Postgres(SecretText(Secret::new(text))))
            }
            // The text itself is not shown: a mistyped URL still holds its password.
            _ => Err(InvalidValue("`sqlite`, `memory` or a URL that begins with postgres://")),
        }
    }
}

impl<'de> Deserialize<'de> for Database {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl Serialize for Database {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Sqlite => "sqlite",
            Self::Memory => "memory",
            Self::Postgres(_) => "(secret)",
        })
    }
}

impl JsonSchema for Database {
    fn schema_name() -> Cow<'static, str> {
        "Database".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "title": "`sqlite`, `memory` or a postgres:// URL",
            "pattern": "^(sqlite|memory|postgres(ql)?://.+|.*\\$\\{.+)$"
        })
    }
}
