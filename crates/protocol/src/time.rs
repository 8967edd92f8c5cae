//! Moments on the wire.

use std::{fmt, str::FromStr};

use crate::json::{Error, FromJson, Reader, ToJson, Writer, serde_via_json};

/// A moment in UTC, to the nanosecond.
///
/// Any RFC 3339 text is read; written are `Z` and as many fraction digits as the moment
/// needs, at least three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(jiff::Timestamp);

/// A text that is not a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an RFC 3339 moment such as 2026-08-20T09:00:00.000Z")]
pub struct InvalidTimestamp;

impl Timestamp {
    /// Returns the present moment of the system clock.
    pub fn now() -> Self {
        Self(jiff::Timestamp::now())
    }

    /// Returns the moment so many milliseconds after the start of 1970, if it is on the
    /// calendar.
    pub fn from_millis(millis: i64) -> Option<Self> {
        jiff::Timestamp::from_millisecond(millis).ok().map(Self)
    }

    /// Returns the moment given as whole seconds and the nanoseconds after them.
    pub fn from_parts(seconds: i64, nanos: i32) -> Option<Self> {
        jiff::Timestamp::new(seconds, nanos).ok().map(Self)
    }

    /// Returns milliseconds since the start of 1970, rounded down.
    pub fn as_millis(self) -> i64 {
        self.0.as_nanosecond().div_euclid(1_000_000).try_into().unwrap_or(i64::MAX)
    }

    /// Returns whole seconds since the start of 1970 and the nanoseconds after them, which
    /// are never negative.
    pub fn to_parts(self) -> (i64, i32) {
        let (seconds, nanos) = (self.0.as_second(), self.0.subsec_nanosecond());
        if nanos < 0 { (seconds - 1, nanos + 1_000_000_000) } else { (seconds, nanos) }
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        text.parse().map(Self).map_err(|_| InvalidTimestamp)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let precision = match self.to_parts().1 {
            nanos if nanos % 1_000_000 == 0 => 3,
            nanos if nanos % 1_000 == 0 => 6,
            _ => 9,
        };
        write!(f, "{:.precision$}", self.0)
    }
}

impl FromJson for Timestamp {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let text = reader.string()?;
        text.parse().map_err(|error: InvalidTimestamp| Error::shape(error.to_string()))
    }
}

impl ToJson for Timestamp {
    fn write(&self, writer: &mut Writer) {
        writer.plain(&self.to_string());
    }
}

serde_via_json!(Timestamp);

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, written: &str) {
        assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), written);
    }

    #[test]
    fn any_rfc_3339_moment_is_read_and_written_in_utc() {
        check("2026-08-20T09:00:00Z", "2026-08-20T09:00:00.000Z");
        check("2026-08-20T11:00:00.5+02:00", "2026-08-20T09:00:00.500Z");
        check("2026-08-20T09:00:00.123456Z", "2026-08-20T09:00:00.123456Z");
        check("2026-08-20T09:00:00.123456789Z", "2026-08-20T09:00:00.123456789Z");
        check("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn seconds_and_nanoseconds_carry_the_whole_moment() {
        let moment: Timestamp = "1969-12-31T23:59:59.25Z".parse().unwrap();
        assert_eq!(moment.to_parts(), (-1, 250_000_000));
        assert_eq!(Timestamp::from_parts(-1, 250_000_000), Some(moment));
        assert_eq!(moment.as_millis(), -750);
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in ["", "now", "2026-08-20", "2026-13-20T09:00:00Z", "2026-08-20T09:00:00"] {
            assert_eq!(text.parse::<Timestamp>(), Err(InvalidTimestamp), "{text}");
        }
    }
}
