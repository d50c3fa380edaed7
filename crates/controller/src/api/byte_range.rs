//! The header `range` of a request for bytes of a log or of an object (RFC 9110).

use std::ops::Range;

use axum::http::{HeaderMap, header};

/// The bytes that a `range` selects.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ByteRange {
    /// All: the header is absent, or it is ignored because it has several ranges, another unit or a syntax error.
    Whole,
    /// These bytes.
    Part(Range<u64>),
    /// None: the range begins after the end.
    Beyond,
}

impl ByteRange {
    /// Reads the range of bytes of this size.
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
        let read = |range: &str| ByteRange::parse(range, 100).unwrap_or(ByteRange::Whole);
        assert_eq!(read("bytes=0-9"), ByteRange::Part(0..10));
        assert_eq!(read("bytes=90-"), ByteRange::Part(90..100));
        assert_eq!(read("bytes=90-500"), ByteRange::Part(90..100));
        assert_eq!(read("bytes=-5"), ByteRange::Part(95..100));
        assert_eq!(read("bytes=-500"), ByteRange::Part(0..100));
        assert_eq!(read("bytes=99-99"), ByteRange::Part(99..100));
        for beyond in ["bytes=100-", "bytes=100-101", "bytes=-0", "bytes=99999999999999999999-"] {
            assert_eq!(read(beyond), ByteRange::Beyond, "{beyond}");
        }
        let nonsense =
            ["bytes=-", "bytes=5-4", "bytes=0-1,5-6", "lines=0-1", "bytes=a-b", "bytes 0-1"];
        for nonsense in nonsense {
            assert_eq!(read(nonsense), ByteRange::Whole, "{nonsense}");
        }
        assert_eq!(ByteRange::parse("bytes=0-", 0), Some(ByteRange::Beyond), "there is none");
    }
}
