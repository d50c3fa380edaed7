//! Times as RFC 3339 text.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::time::Time;

/// A time in UTC as RFC 3339 text with milliseconds: `2026-11-16T04:31:00.123Z`. Such texts sort by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UtcTime(pub Time);

const DAY: u64 = 24 * 60 * 60 * 1000;

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis();
        let (year, month, day) = date(ms / DAY);
        let (hour, minute) = (ms / 3_600_000 % 24, ms / 60_000 % 60);
        let (second, ms) = (ms / 1000 % 60, ms % 1000);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
    }
}

impl Serialize for UtcTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for UtcTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let unknown = || format!("`{text}` is no time in UTC, such as 2026-11-16T09:30:00Z");
        Self::parse(&text).ok_or_else(|| D::Error::custom(unknown()))
    }
}

impl UtcTime {
    /// Parses the text that `Display` writes. The fraction may have any number of digits; only milliseconds count.
    pub fn parse(text: &str) -> Option<Self> {
        let (date, clock) = text.strip_suffix('Z')?.split_once('T')?;
        let [year, month, day] = numbers(date, '-')?;
        let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
        let [hour, minute, second] = numbers(clock, ':')?;
        let fits =
            (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
        if !fits || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let digits = fraction.bytes().all(|byte| byte.is_ascii_digit());
        let ms = format!("{fraction:0<3}").get(..3).filter(|_| digits)?.parse::<u64>().ok()?;
        let seconds = (hour * 60 + minute) * 60 + second;
        Some(Self(Time::from_millis(days(year, month, day) * DAY + seconds * 1000 + ms)))
    }
}

fn numbers(text: &str, between: char) -> Option<[u64; 3]> {
    let parts: Option<Vec<u64>> = text.split(between).map(|part| part.parse().ok()).collect();
    parts?.try_into().ok()
}

/// Returns the days since 1970-01-01: the inverse of [`date`].
const fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Returns year, month and day of a number of days after 1970-01-01. Years begin in March here, so that the leap day is
/// the last day. Eras of 400 years all have the same number of days.
const fn date(days: u64) -> (u64, u64, u64) {
    const ERA: u64 = 146_097;
    let days = days + 719_468;
    let (era, day) = (days / ERA, days % ERA);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_calendar_dates() {
        let known = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_790_000_000_123, "2026-09-21T14:13:20.123Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ];
        for (ms, text) in known {
            assert_eq!(UtcTime(Time::from_millis(ms)).to_string(), text);
            assert_eq!(UtcTime::parse(text), Some(UtcTime(Time::from_millis(ms))));
        }
    }

    #[test]
    fn text_that_is_no_time_is_rejected() {
        for text in ["", "Z", "T", "2026-09-21", "2026-13-01T00:00:00Z", "2026-09-21T14:13:20.xZ"] {
            assert_eq!(UtcTime::parse(text), None, "{text}");
        }
        assert_eq!(UtcTime::parse("1970-01-01T00:00:01Z"), Some(UtcTime(Time::from_millis(1000))));
        assert_eq!(
            UtcTime::parse("1970-01-01T00:00:00.0129Z"),
            Some(UtcTime(Time::from_millis(12)))
        );
    }
}
