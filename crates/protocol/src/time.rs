//! Moments on the wire.

use std::{
    fmt,
    str::FromStr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use jiff::{civil::DateTime, fmt::temporal::Pieces};

use crate::json::{Error, FromJson, Reader, ToJson, Writer, serde_via_json};

/// The start of 1970, from which seconds are counted.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The first second of the year 1 and the last of the year 9999: the calendar of protobuf.
const FIRST_SECOND: i64 = -62_135_596_800;
const LAST_SECOND: i64 = 253_402_300_799;

const SECONDS_PER_DAY: i64 = 86_400;
const NANOS_PER_SECOND: u32 = 1_000_000_000;

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
        let since = |duration: Duration| {
            (i64::try_from(duration.as_secs()).unwrap_or(LAST_SECOND), duration.subsec_nanos())
        };
        let (seconds, nanos) = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => since(after),
            Err(before) => match since(before.duration()) {
                (seconds, 0) => (-seconds, 0),
                (seconds, nanos) => (-seconds - 1, NANOS_PER_SECOND - nanos),
            },
        };
        let seconds = seconds.clamp(FIRST_SECOND, LAST_SECOND);
        Self { seconds, nanos: i32::try_from(nanos).unwrap_or_default() }
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
        let nanos = u32::try_from(self.nanos).unwrap_or_default();
        let (fraction, digits) = match nanos {
            nanos if nanos % 1_000_000 == 0 => (nanos / 1_000_000, 3),
            nanos if nanos % 1_000 == 0 => (nanos / 1_000, 6),
            nanos => (nanos, 9),
        };
        let second = u32::try_from(self.seconds.rem_euclid(SECONDS_PER_DAY)).unwrap_or_default();
        let (year, month, day) = date(self.seconds.div_euclid(SECONDS_PER_DAY));
        let mut text = Text { bytes: [0; 30], length: 0 };
        text.push(year, 4, b'-');
        text.push(month, 2, b'-');
        text.push(day, 2, b'T');
        text.push(second / 3600, 2, b':');
        text.push(second / 60 % 60, 2, b':');
        text.push(second % 60, 2, b'.');
        text.push(fraction, digits, b'Z');
        text
    }

    /// Returns whole seconds since the start of 1970 and the nanoseconds after them, which
    /// are never negative.
    pub fn to_parts(self) -> (i64, i32) {
        (self.seconds, self.nanos)
    }
}

/// Returns year, month and day of the day so many days after the start of 1970.
///
/// Years are counted from March on, so that the day that only some of them have is their last;
/// 400 of them are always 146,097 days.
fn date(days: i64) -> (u32, u32, u32) {
    // From the 1st of March of the year 0 on, which is before everything on the calendar.
    let days = u32::try_from(days + 719_468).unwrap_or_default();
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let year = era * 400 + year_of_era + u32::from(month_from_march >= 10);
    (year, (month_from_march + 2) % 12 + 1, day)
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
    #[inline]
    fn push(&mut self, number: u32, digits: usize, sign: u8) {
        let Some((place, rest)) = self.bytes[self.length..].split_at_mut_checked(digits) else {
            return;
        };
        let mut left = number;
        for digit in place.iter_mut().rev() {
            // One digit is less than ten.
            *digit = b'0' + u8::try_from(left % 10).unwrap_or_default();
            left /= 10;
        }
        if let Some(behind) = rest.first_mut() {
            *behind = sign;
        }
        self.length += digits + 1;
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

    fn weight(&self) -> usize {
        r#""2026-11-17T18:04:05.123456Z""#.len()
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
    fn every_day_of_the_calendar_is_written_as_it_is_read() {
        for days in FIRST_SECOND / SECONDS_PER_DAY..=LAST_SECOND / SECONDS_PER_DAY {
            let moment = Timestamp::from_parts(days * SECONDS_PER_DAY + 86_399, 0).unwrap();
            let (year, month, day) = date(days);
            let read = jiff::civil::Date::new(
                i16::try_from(year).unwrap(),
                i8::try_from(month).unwrap(),
                i8::try_from(day).unwrap(),
            );
            let since = read.unwrap().to_datetime(jiff::civil::Time::midnight());
            assert_eq!(since.duration_since(EPOCH).as_secs(), days * SECONDS_PER_DAY);
            if days % 97 == 0 {
                assert_eq!(moment.to_string().parse(), Ok(moment));
            }
        }
    }

    #[test]
    fn the_present_is_between_this_year_and_the_end_of_the_calendar() {
        let written = Timestamp::now();
        assert!(written > "2026-01-01T00:00:00Z".parse().unwrap());
        assert_eq!(written.to_string().parse(), Ok(written));
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
