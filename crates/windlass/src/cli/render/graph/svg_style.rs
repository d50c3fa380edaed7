//! The style sheet of the image: light by default, dark for dark screens.

/// Rules for the classes that `svg` uses.
pub(super) const STYLE: &str = "\
text{font:500 13px ui-sans-serif,system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328}\
.c{font-weight:600;font-size:11px;fill:#57606a}\
.l{font-size:10.5px;fill:#7d4e00}\
.n{fill:#f6f8fa;stroke:#afb8c1;stroke-width:1.2}\
.q{stroke-dasharray:5 3}\
.b{fill:#fff3cd}\
.k{fill:none;stroke:#7d4e00;stroke-width:1.3}\
.kb{fill:#7d4e00}\
.e{fill:none;stroke:#8c959f;stroke-width:1.4}\
.o{stroke-dasharray:4 4}\
.a{fill:#8c959f}\
@media(prefers-color-scheme:dark){\
text{fill:#e6edf3}\
.c{fill:#9198a1}\
.l{fill:#e3b341}\
.n{fill:#1c2128;stroke:#545d68}\
.b{fill:#3a2f12}\
.k{stroke:#e3b341}\
.kb{fill:#e3b341}\
.e{stroke:#768390}\
.a{fill:#768390}\
}";

/// Character widths at 13 px, in tenths of a pixel, slightly above those of common fonts, so that a label fits in any
/// of them.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let letter = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | '\'' | '|' => 3.9,
        'f' | 't' | 'r' | ' ' | '-' | '(' | ')' | '[' | ']' | '/' => 5.2,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 11.6,
        'A'..='Z' | '_' => 9.2,
        c if c.is_ascii() => 7.6,
        c if u32::from(c) >= 0x1100 => 13.6,
        _ => 8.6,
    };
    text.chars().map(letter).sum::<f64>() * size / 13.0
}
