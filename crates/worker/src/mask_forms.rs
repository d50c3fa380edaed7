//! The forms in which a step is likely to print a secret.

use windlass_core::environment::MASKED_MIN;

const UPPER: &[u8; 16] = b"0123456789ABCDEF";
const LOWER: &[u8; 16] = b"0123456789abcdef";

/// The characters of a URL that are not escaped, beside letters and digits: by the standard, in JavaScript, and in a
/// path.
const UNESCAPED: [&[u8]; 3] = [b"-_.~", b"-_.~!*'()", b"-_.~/"];

/// Longer values are not searched with every character escaped. Those forms are up to eight times as large, and the
/// search holds all of them in memory.
const ESCAPED_WHOLE_MAX: usize = 16 * 1024;

/// Returns every form that stays in one piece.
pub(super) fn forms(value: &str) -> Vec<Vec<u8>> {
    let mut forms = vec![value.as_bytes().to_vec()];
    let lines = value.lines().map(str::trim).filter(|line| line.len() >= MASKED_MIN);
    forms.extend(lines.map(|line| line.as_bytes().to_vec()));
    for digits in [UPPER, LOWER] {
        for unescaped in UNESCAPED {
            let encoded = percent_encoded(value, digits, unescaped);
            // Forms encode a space as `+`.
            forms.push(replaced(&encoded, b"%20", b"+"));
            forms.push(encoded);
        }
        for escapes in [JsonEscapes::NonAscii, JsonEscapes::Html, JsonEscapes::HtmlAndSlash] {
            forms.push(json(value, digits, escapes).into_bytes());
        }
    }
    forms.push(json(value, LOWER, JsonEscapes::Minimal).into_bytes());
    for (double, single) in
        [("&quot;", "&#39;"), ("&#34;", "&#39;"), ("&quot;", "&#x27;"), ("\"", "&apos;")]
    {
        forms.push(html(value, double, single).into_bytes());
    }
    for digits in [UPPER, LOWER] {
        forms.push(bytes_literal(value, digits));
    }
    if value.len() <= ESCAPED_WHOLE_MAX {
        forms.extend(escaped_whole(value));
    }
    forms
}

/// Returns the forms in which every character is escaped, and those in which all but ASCII is.
fn escaped_whole(value: &str) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for separator in [" ", ":", "\\x"] {
        let lower: Vec<String> = value.bytes().map(|byte| format!("{byte:02x}")).collect();
        let upper: Vec<String> = value.bytes().map(|byte| format!("{byte:02X}")).collect();
        forms.extend([lower, upper].map(|bytes| bytes.join(separator).into_bytes()));
    }
    let units = |escape: fn(u16) -> String| value.encode_utf16().map(escape).collect::<String>();
    forms.push(units(|unit| format!("\\u{unit:04x}")).into_bytes());
    forms.push(units(|unit| format!("\\u{unit:04X}")).into_bytes());
    let entities: [fn(char) -> String; 3] = [
        |c| format!("&#{};", u32::from(c)),
        |c| format!("&#x{:x};", u32::from(c)),
        |c| format!("&#x{:X};", u32::from(c)),
    ];
    for entity in entities {
        forms.push(value.chars().map(entity).collect::<String>().into_bytes());
        for (double, single) in [("&#34;", "&#39;"), ("&quot;", "&#39;"), ("&quot;", "&#x27;")] {
            let page = html(value, double, single);
            let ascii = |c: char| if c.is_ascii() { c.to_string() } else { entity(c) };
            forms.push(page.chars().map(ascii).collect::<String>().into_bytes());
        }
    }
    forms
}

/// Returns a text as a literal of bytes in Python or C, with `\xNN` for all that is not ASCII.
fn bytes_literal(text: &str, digits: &[u8; 16]) -> Vec<u8> {
    let mut literal = Vec::new();
    for byte in text.bytes() {
        match byte {
            b'\n' => literal.extend(b"\\n"),
            b'\r' => literal.extend(b"\\r"),
            b'\t' => literal.extend(b"\\t"),
            b'\\' => literal.extend(b"\\\\"),
            b' '..=b'~' => literal.push(byte),
            _ => {
                let (high, low) = (digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]);
                literal.extend([b'\\', b'x', high, low]);
            }
        }
    }
    literal
}

/// Returns every form that programs break into lines: base64 and hexadecimal digits.
pub(super) fn wrapped_forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = base64(value);
    for digits in [UPPER, LOWER] {
        let hex = |byte: &u8| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]];
        forms.push(value.iter().flat_map(hex).collect());
    }
    forms
}

/// Returns the characters of base64 that depend on the secret alone, for each of its three possible offsets in a longer
/// text, in both alphabets.
fn base64(secret: &[u8]) -> Vec<Vec<u8>> {
    const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const FOR_URLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut forms = Vec::new();
    for before in 0..3_usize {
        let first_bit = before * 8;
        let last_bit = first_bit + secret.len() * 8;
        // A character has six bits: only those that lie wholly within the secret count.
        let characters = first_bit.div_ceil(6)..last_bit / 6;
        for alphabet in [STANDARD, FOR_URLS] {
            let sextet = |at: usize| sextet(secret, at * 6 - first_bit);
            forms.push(characters.clone().map(|at| alphabet[sextet(at)]).collect());
        }
    }
    // A few characters match too much: they would be found in harmless text.
    forms.retain(|form: &Vec<u8>| form.len() >= MASKED_MIN);
    forms
}

/// Returns the six bits from a bit on.
fn sextet(bytes: &[u8], from: usize) -> usize {
    let bit = |at: usize| usize::from(bytes[at / 8] >> (7 - at % 8) & 1);
    (from..from + 6).fold(0, |bits, at| bits << 1 | bit(at))
}

fn percent_encoded(text: &str, digits: &[u8; 16], unescaped: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || unescaped.contains(&byte) {
            encoded.push(byte);
        } else {
            encoded.extend([b'%', digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]);
        }
    }
    encoded
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let (mut left, mut made) = (bytes, Vec::new());
    while let Some(first) = left.first() {
        if let Some(behind) = left.strip_prefix(from) {
            made.extend_from_slice(to);
            left = behind;
        } else {
            made.push(*first);
            left = &left[1..];
        }
    }
    made
}

/// The characters that a writer of JSON escapes beside the required ones.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonEscapes {
    Minimal,
    /// Characters outside ASCII.
    NonAscii,
    /// The same, and characters with a meaning in HTML.
    Html,
    /// The same, and `/`.
    HtmlAndSlash,
}

/// Returns a text as part of a JSON string.
fn json(text: &str, digits: &[u8; 16], escapes: JsonEscapes) -> String {
    let mut written = String::new();
    for c in text.chars() {
        let is_markup = matches!(c, '<' | '>' | '&' | '\'' | '"');
        let of_markup = matches!(escapes, JsonEscapes::Html | JsonEscapes::HtmlAndSlash);
        if (escapes != JsonEscapes::Minimal && !c.is_ascii()) || (of_markup && is_markup) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let digit = |at: u16| char::from(digits[usize::from(*unit >> (12 - 4 * at) & 15)]);
                written.push_str("\\u");
                written.extend((0..4).map(digit));
            }
        } else if escapes == JsonEscapes::HtmlAndSlash && c == '/' {
            written.push_str("\\/");
        } else {
            let quoted = serde_json::Value::from(c.to_string()).to_string();
            written.push_str(&quoted[1..quoted.len() - 1]);
        }
    }
    written
}

/// Returns a text as part of an HTML page.
fn html(text: &str, double: &str, single: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', double).replace('\'', single)
}
