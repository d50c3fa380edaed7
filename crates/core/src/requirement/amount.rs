//! Numeric values of facts: plain numbers, or sizes with a unit.

use std::borrow::Cow;

/// Facts that are sizes in bytes; a number without a unit would be ambiguous.
const SIZES: [&str; 2] = ["mem", "disk"];
/// Units, largest first.
const UNITS: [(&str, u64); 4] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// Whether the fact is a size.
pub(super) fn is_size(key: &str) -> bool {
    SIZES.iter().any(|size| size.eq_ignore_ascii_case(key))
}

/// Parses digits with an optional unit, ignoring case.
pub(super) fn parse_amount(text: &str) -> Option<u64> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, unit) = text.split_at(length);
    let factor = match unit {
        "" => 1,
        _ => UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?.1,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// Formats the number of a fact; a size gets the largest unit that divides it.
pub(super) fn format_amount(key: &str, number: u64) -> Cow<'static, str> {
    let whole = |(_, factor): &&(&str, u64)| number > 0 && number.is_multiple_of(*factor);
    match UNITS.iter().find(whole).filter(|_| is_size(key)) {
        Some((unit, factor)) => format!("{}{unit}", number / factor).into(),
        None => number.to_string().into(),
    }
}
