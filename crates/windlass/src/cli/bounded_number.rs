//! Numbers on the command line.

use std::ops::RangeInclusive;

/// Parses a number in a range; the error states the range.
pub(crate) fn number(
    within: RangeInclusive<u32>,
) -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync {
    move |text| {
        let read = text.parse().ok().filter(|number| within.contains(number));
        let (least, most) = (within.start(), within.end());
        read.ok_or_else(|| format!("write a number from {least} to {most}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_out_of_range_is_refused_with_the_range() {
        let jobs = number(1..=64);
        assert_eq!((jobs("1"), jobs("64")), (Ok(1), Ok(64)));
        for text in ["0", "65", "x", "", "-1", "1.5", "99999999999"] {
            assert_eq!(jobs(text), Err("write a number from 1 to 64".to_owned()), "{text}");
        }
    }
}
