//! Identifiers: opaque texts that cannot be mistaken for one another.

use std::{fmt, str::FromStr, sync::Arc};

use crate::json::{Error, FromJson, Reader, ToJson, Writer, serde_via_json};

/// The longest identifier we accept, in bytes.
pub const MAX_ID_BYTES: usize = 256;

/// A text that cannot be an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an identifier has 1 to {MAX_ID_BYTES} bytes, this has {length}")]
pub struct InvalidId {
    /// How many bytes the text has.
    pub length: usize,
}

macro_rules! id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Accepts any text of 1 to 256 bytes: identifiers are opaque to us.
            pub fn parse(text: &str) -> Result<Self, InvalidId> {
                if !(1..=MAX_ID_BYTES).contains(&text.len()) {
                    return Err(InvalidId { length: text.len() });
                }
                Ok(Self(text.into()))
            }

            /// Makes a new one, unique and ordered by time (UUID version 7).
            pub fn generate() -> Self {
                let mut buffer = uuid::Uuid::encode_buffer();
                Self((&*uuid::Uuid::now_v7().hyphenated().encode_lower(&mut buffer)).into())
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::parse(text)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl FromJson for $name {
            fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
                Self::parse(&reader.string()?).map_err(|error| Error::shape(error.to_string()))
            }
        }

        impl ToJson for $name {
            fn write(&self, writer: &mut Writer) {
                writer.string(&self.0);
            }

            fn weight(&self) -> usize {
                self.0.weight()
            }
        }

        serde_via_json!($name);
    };
}

id!(
    /// Names a task; made by the server.
    TaskId
);
id!(
    /// Names a conversation: the tasks and messages that belong together.
    ContextId
);
id!(
    /// Names a message; made by its sender.
    MessageId
);
id!(
    /// Names an artifact within its task.
    ArtifactId
);
id!(
    /// Names a push notification configuration within its task.
    PushConfigId
);
id!(
    /// Names an agent behind a shared endpoint: the `tenant` of A2A requests.
    Tenant
);
id!(
    /// Names an agent in a directory, for good: it outlives a change of name or address.
    AgentId
);
id!(
    /// Names an organisation: nothing crosses its border. Never the `tenant` of A2A.
    Organisation
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_have_between_1_and_256_bytes() {
        assert_eq!(TaskId::parse(""), Err(InvalidId { length: 0 }));
        assert_eq!(TaskId::parse(&"x".repeat(257)), Err(InvalidId { length: 257 }));
        assert_eq!(TaskId::parse(&"x".repeat(256)).unwrap().as_str().len(), 256);
    }

    #[test]
    fn generated_identifiers_sort_by_time_and_differ() {
        let first = TaskId::generate();
        let second = TaskId::generate();
        assert!(first < second);
    }
}
