//! Parses durations such as `250ms`, `90s`, `15m`, `2h`, `1h30m`.

use crate::time::Span;

/// Why a string is not a valid duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DurationError {
    /// A number without a unit.
    Bare,
    /// Any other syntax error.
    Unreadable,
    /// Longer than the maximum.
    TooLong,
    /// Zero where a positive duration is required.
    Zero,
}

/// The longest duration: more than ten years is meant as "no limit".
const DURATION_MAX_MILLIS: u64 = 10 * 365 * 24 * 3_600_000;

/// Parses a duration.
pub fn parse_duration(text: &str) -> Result<Span, DurationError> {
    if text.parse::<f64>().is_ok() {
        return Err(DurationError::Bare);
    }
    let mut rest = text;
    let mut total = 0_u64;
    let mut last = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let letters = rest[digits..].bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = unit_millis(&rest[digits..digits + letters]).ok_or(DurationError::Unreadable)?;
        if digits == 0 || unit >= last {
            return Err(DurationError::Unreadable);
        }
        let count: u64 = rest[..digits].parse().map_err(|_| DurationError::TooLong)?;
        total = total.saturating_add(count.saturating_mul(unit));
        last = unit;
        rest = &rest[digits + letters..];
    }
    match total {
        _ if text.is_empty() => Err(DurationError::Unreadable),
        total if total > DURATION_MAX_MILLIS => Err(DurationError::TooLong),
        total => Ok(Span::millis(total)),
    }
}

/// Parses a duration that must be greater than zero.
pub fn parse_positive_duration(text: &str) -> Result<Span, DurationError> {
    match parse_duration(text) {
        Ok(Span::ZERO) => Err(DurationError::Zero),
        Err(DurationError::Bare) if text.parse::<f64>().is_ok_and(|bare| bare == 0.0) => {
            Err(DurationError::Zero)
        }
        read => read,
    }
}

fn unit_millis(word: &str) -> Option<u64> {
    Some(match word {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 24 * 3_600_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_units_in_descending_order() {
        assert_eq!(parse_duration("250ms"), Ok(Span::millis(250)));
        assert_eq!(parse_duration("1h30m"), Ok(Span::mins(90)));
        assert_eq!(parse_duration("0s"), Ok(Span::ZERO));
        assert_eq!(parse_duration("15"), Err(DurationError::Bare));
        assert_eq!(parse_duration("1.5"), Err(DurationError::Bare));
        assert_eq!(parse_duration("99999999999999999999h"), Err(DurationError::TooLong));
        for bad in ["", "s", "1m2h", "1 h", "1.5h", "-1s", "15min", "1h1h", "١s"] {
            assert_eq!(parse_duration(bad), Err(DurationError::Unreadable), "{bad}");
        }
    }

    #[test]
    fn a_limit_of_zero_is_refused() {
        assert_eq!(parse_positive_duration("1ms"), Ok(Span::millis(1)));
        for zero in ["0", "0.0", "0s", "0h0m"] {
            assert_eq!(parse_positive_duration(zero), Err(DurationError::Zero), "{zero}");
        }
        assert_eq!(parse_positive_duration("15"), Err(DurationError::Bare));
    }
}
