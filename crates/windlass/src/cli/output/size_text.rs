//! Sizes for readers.

/// A size with the relevant precision: `999 B`, `12.3 KiB`, `256.0 MiB`, `1.5 GiB`.
pub(crate) fn size_text(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.into_iter().find(|(_, bits)| bytes >> bits > 0) {
        None => format!("{bytes} B"),
        Some((unit, bits)) => {
            let tenth = ((bytes & ((1 << bits) - 1)) * 10) >> bits;
            format!("{}.{tenth} {unit}", bytes >> bits)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_digit_after_the_point() {
        let sizes = [0, 1023, 1024, 12_600, (1 << 20) - 1, 256 << 20, 3 << 29];
        let texts = ["0 B", "1023 B", "1.0 KiB", "12.3 KiB", "1023.9 KiB", "256.0 MiB", "1.5 GiB"];
        assert_eq!(sizes.map(size_text), texts);
    }
}
