//! Moments on the wire.

use std::{fmt, str::FromStr};

use jiff::{SignedDuration, civil::DateTime, fmt::temporal::Pieces, tz::Offset};

use crate::json::{Error, FromJson, Reader, ToJson, Writer, serde_via_json};

/// The start of 1970, from which seconds are counted.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The first second of the year 1 and the last of the year 9999: the calendar of protobuf.
const FIRST_SECOND: i64 = -62_135_596_800;
const LAST_SECOND: i64 = 253_402_300_799;

/// A moment in UTC, to the nanosecond, in the years 1 to 9999.
///
/// Any RFC 3339 text is read; written are `Z` and as many fraction digits as the moment
/// needs, at least three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    seconds: i64,
    /// Never negative, so that the order of fields is the order of time.
    nanos: i32,
}

/// A text that is not a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an RFC 3339 moment such as 2026-08-20T09:00:00.000Z")]
pub struct InvalidTimestamp;

impl Timestamp {
    /// Returns the present moment of the system clock.
    pub fn now() -> Self {
        let now = jiff::Timestamp::now();
        let nanos = now.as_nanosecond().rem_euclid(1_000_000_000);
        Self {
            seconds: now.as_second() - i64::from(now.subsec_nanosecond() < 0),
            nanos: i32::try_from(nanos).unwrap_or_default(),
        }
    }

    /// Returns the moment so many milliseconds after the start of 1970, if it is on the
    /// calendar.
    pub fn from_millis(millis: i64) -> Option<Self> {
        let nanos = i32::try_from(millis.rem_euclid(1000)).ok()? * 1_000_000;
        Self::from_parts(millis.div_euclid(1000), nanos)
    }

    /// Returns the moment given as whole seconds and the nanoseconds after them.
    pub fn from_parts(seconds: i64, nanos: i32) -> Option<Self> {
        if !(0..1_000_000_000).contains(&nanos) {
            return None;
        }
        (FIRST_SECOND..=LAST_SECOND).contains(&seconds).then_some(Self { seconds, nanos })
    }

    /// Returns milliseconds since the start of 1970, rounded down.
    pub fn as_millis(self) -> i64 {
        self.seconds * 1000 + i64::from(self.nanos / 1_000_000)
    }

    fn text(self) -> Text {
        let moment = match jiff::Timestamp::new(self.seconds, self.nanos) {
            Ok(moment) => Offset::UTC.to_datetime(moment),
            // The last day of the calendar.
            Err(_) => EPOCH.saturating_add(SignedDuration::new(self.seconds, self.nanos)),
        };
        let part = |number: i8| u32::try_from(number).unwrap_or_default();
        let nanos = u32::try_from(self.nanos).unwrap_or_default();
        let (fraction, digits) = match nanos {
            nanos if nanos % 1_000_000 == 0 => (nanos / 1_000_000, 3),
            nanos if nanos % 1_000 == 0 => (nanos / 1_000, 6),
            nanos => (nanos, 9),
        };
        let mut text = Text { bytes: [0; 30], length: 0 };
        text.push(u32::try_from(moment.year()).unwrap_or_default(), 4, b'-');
        text.push(part(moment.month()), 2, b'-');
        text.push(part(moment.day()), 2, b'T');
        text.push(part(moment.hour()), 2, b':');
        text.push(part(moment.minute()), 2, b':');
        text.push(part(moment.second()), 2, b'.');
        text.push(fraction, digits, b'Z');
        text
    }

    /// Returns whole seconds since the start of 1970 and the nanoseconds after them, which
    /// are never negative.
    pub fn to_parts(self) -> (i64, i32) {
        (self.seconds, self.nanos)
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let read = || {
            let pieces = Pieces::parse(text).ok()?;
            if pieces.time_zone_annotation().is_some() {
                return None;
            }
            let offset = pieces.to_numeric_offset()?;
            let local = pieces.date().to_datetime(pieces.time()?).duration_since(EPOCH);
            let seconds = local.as_secs() - i64::from(local.subsec_nanos() < 0);
            let nanos = local.subsec_nanos().rem_euclid(1_000_000_000);
            Self::from_parts(seconds - i64::from(offset.seconds()), nanos)
        };
        read().ok_or(InvalidTimestamp)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

/// The text of a moment. Every event has one, so it is written without allocation and without
/// the machinery of formatting.
struct Text {
    bytes: [u8; 30],
    length: usize,
}

impl Text {
    fn as_str(&self) -> &str {
        // There are only digits and signs in it.
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }

    /// Writes a number in so many digits, with a sign behind it.
    fn push(&mut self, number: u32, digits: usize, sign: u8) {
        let mut rest = number;
        for place in (self.length..self.length + digits).rev() {
            // One digit is less than ten.
            self.bytes[place] = b'0' + u8::try_from(rest % 10).unwrap_or_default();
            rest /= 10;
        }
        self.length += digits;
        self.bytes[self.length] = sign;
        self.length += 1;
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
        writer.plain(self.text().as_str());
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
        check("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z");
        check("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z");
        check("0000-12-31T23:00:00-01:00", "0001-01-01T00:00:00.000Z");
        check("2026-08-20t09:00:00z", "2026-08-20T09:00:00.000Z");
    }

    #[test]
    fn seconds_and_nanoseconds_carry_the_whole_moment() {
        let moment: Timestamp = "1969-12-31T23:59:59.25Z".parse().unwrap();
        assert_eq!(moment.to_parts(), (-1, 250_000_000));
        assert_eq!(Timestamp::from_parts(-1, 250_000_000), Some(moment));
        assert_eq!(moment.as_millis(), -750);
        assert_eq!(Timestamp::from_millis(-750), Some(moment));
        assert_eq!(Timestamp::from_parts(0, -1), None);
        assert_eq!(Timestamp::from_parts(i64::MAX, 0), None);
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "now",
            "2026-08-20",
            "2026-13-20T09:00:00Z",
            "2026-08-20T09:00:00",
            "2026-08-20T09:00:00+00:00[UTC]",
            "0000-12-31T23:59:59Z",
            "9999-12-31T23:59:59-00:01",
        ] {
            assert_eq!(text.parse::<Timestamp>(), Err(InvalidTimestamp), "{text}");
        }
    }
}
