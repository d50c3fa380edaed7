//! Durations for readers.

use windlass_core::time::Span;

/// A duration with the relevant precision: `350ms`, `12.4s`, `3m 07s`, `2h 05m`, `3d 04h`.
pub(crate) fn span_text(span: Span) -> String {
    let ms = span.as_millis();
    let (s, m, h) = (ms / 1000, ms / 60_000, ms / 3_600_000);
    match ms {
        0..1000 => format!("{ms}ms"),
        // Rounded down like every larger unit: 59.96 s is less than a minute.
        1000..60_000 => format!("{s}.{}s", ms % 1000 / 100),
        60_000..3_600_000 => format!("{m}m {:02}s", s % 60),
        3_600_000..86_400_000 => format!("{h}h {:02}m", m % 60),
        _ => format!("{}d {:02}h", h / 24, h % 24),
    }
}

/// The same in whole seconds, for a running clock: `0s`, `12s`, `3m 07s`.
pub(super) fn clock_text(span: Span) -> String {
    match span.as_millis() {
        ms @ 0..60_000 => format!("{}s", ms / 1000),
        _ => span_text(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_the_relevant_precision() {
        let known = [
            (0, "0ms", "0s"),
            (350, "350ms", "0s"),
            (999, "999ms", "0s"),
            (12_480, "12.4s", "12s"),
            (59_999, "59.9s", "59s"),
            (187_000, "3m 07s", "3m 07s"),
            (7_500_000, "2h 05m", "2h 05m"),
            (273_600_000, "3d 04h", "3d 04h"),
        ];
        for (ms, text, clock) in known {
            assert_eq!(span_text(Span::millis(ms)), text);
            assert_eq!(clock_text(Span::millis(ms)), clock);
        }
    }
}
