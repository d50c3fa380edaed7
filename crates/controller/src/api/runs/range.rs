//! The header `range` of a request for a log (RFC 9110).

use std::ops::Range;

use axum::http::{HeaderMap, header};

/// The bytes that a `range` selects.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LogByteRange {
    /// All: the header is absent, or it is ignored because it has several ranges, another unit or a syntax error.
    Whole,
    /// These bytes.
    Part(Range<u64>),
    /// None: the range begins after the end.
    Beyond,
}

impl LogByteRange {
    /// Reads the range of a log of this size.
    pub(super) fn read(headers: &HeaderMap, size: u64) -> Self {
        let range = headers.get(header::RANGE).and_then(|value| value.to_str().ok());
        range.and_then(|range| Self::parse(range, size)).unwrap_or(Self::Whole)
    }

    fn parse(range: &str, size: u64) -> Option<Self> {
        let (first, last) = range.strip_prefix("bytes=")?.trim().split_once('-')?;
        let number = |text: &str| {
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            // A number that is too large is beyond any end.
            is_number.then(|| text.parse().unwrap_or(u64::MAX))
        };
        let part = match (first, last) {
            ("", "") => return None,
            ("", last) => size.saturating_sub(number(last)?)..size,
            (first, "") => number(first)?..size,
            (first, last) => number(first)?..number(last)?.saturating_add(1).min(size),
        };
        let is_backwards = !first.is_empty() && !last.is_empty() && number(first)? > number(last)?;
        if is_backwards {
            return None;
        }
        Some(if part.start < part.end { Self::Part(part) } else { Self::Beyond })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_is_read_as_rfc_9110_defines_it() {
        let read = |range: &str| LogByteRange::parse(range, 100).unwrap_or(LogByteRange::Whole);
        assert_eq!(read("bytes=0-9"), LogByteRange::Part(0..10));
        assert_eq!(read("bytes=90-"), LogByteRange::Part(90..100));
        assert_eq!(read("bytes=90-500"), LogByteRange::Part(90..100));
        assert_eq!(read("bytes=-5"), LogByteRange::Part(95..100));
        assert_eq!(read("bytes=-500"), LogByteRange::Part(0..100));
        assert_eq!(read("bytes=99-99"), LogByteRange::Part(99..100));
        for beyond in ["bytes=100-", "bytes=100-101", "bytes=-0", "bytes=99999999999999999999-"] {
            assert_eq!(read(beyond), LogByteRange::Beyond, "{beyond}");
        }
        let nonsense =
            ["bytes=-", "bytes=5-4", "bytes=0-1,5-6", "lines=0-1", "bytes=a-b", "bytes 0-1"];
        for nonsense in nonsense {
            assert_eq!(read(nonsense), LogByteRange::Whole, "{nonsense}");
        }
        assert_eq!(LogByteRange::parse("bytes=0-", 0), Some(LogByteRange::Beyond), "there is none");
    }
}
