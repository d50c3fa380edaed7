//! Masks secrets in the output of steps before it is stored or shown.
//!
//! A secret is found in every form in which a step is likely to print it: unchanged, each long line of it, and in the
//! encodings of `mask_forms`, also where base64 or hexadecimal text is wrapped. It is found however the output is cut
//! into chunks: bytes that may be the beginning of a secret wait for what follows them. `executors/attempt_log.rs` applies
//! masks to output, `step_outputs.rs` to outputs.

use std::ops::Range;

use windlass_core::environment::MASKED_MIN;

use super::mask_forms::{forms, wrapped_forms};
use super::mask_search::PatternSearch;

/// The text that replaces a secret.
pub const MASK: &str = "***";

/// The length below which a line does not count as wrapped. Programs wrap encoded text at 60 bytes or more, sometimes
/// with a shorter first line.
const WRAP_MIN: usize = 48;

/// The reason why a secret cannot be masked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaskError {
    /// The secret is too short: it would match harmless output.
    #[error(
        "secret {0} has fewer than {MASKED_MIN} bytes and cannot be distinguished from other output"
    )]
    TooShort(String),
    /// There are more patterns than can be searched.
    #[error("the secrets are too large to be looked for in the output")]
    TooLarge,
}

/// Finds secrets in a stream of bytes and masks them.
#[derive(Clone, Debug, Default)]
pub struct SecretMasks {
    plain: PatternSearch,
    /// The patterns that may be broken into lines.
    wrapped: PatternSearch,
}

impl SecretMasks {
    /// Creates masks for these secrets, given by name and value.
    pub fn new<'a>(
        secrets: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, MaskError> {
        let (mut plain, mut wrapped) = (Vec::new(), Vec::new());
        for (name, value) in secrets {
            if value.len() < MASKED_MIN {
                return Err(MaskError::TooShort(name.to_owned()));
            }
            plain.extend(forms(value));
            wrapped.extend(wrapped_forms(value.as_bytes()));
        }
        plain.extend(wrapped.iter().cloned());
        let search = |patterns| PatternSearch::new(patterns).map_err(|_| MaskError::TooLarge);
        Ok(Self { plain: search(plain)?, wrapped: search(wrapped)? })
    }

    /// Masks secrets in a whole text.
    pub fn cover(&self, text: &str) -> String {
        let mut stream = MaskedStream::new(self.clone());
        let mut covered = stream.push(text.as_bytes());
        covered.extend(stream.finish());
        // The text between masks may begin or end within a character.
        String::from_utf8_lossy(&covered).into_owned()
    }

    /// Returns whether a text contains a secret.
    pub fn find_in(&self, text: &str) -> bool {
        let joined = UnwrappedBytes::new(text.as_bytes());
        self.plain.is_found_in(text.as_bytes()) || self.wrapped.is_found_in(&joined.bytes)
    }

    /// Returns whether there is nothing to search for.
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty()
    }
}

/// Bytes without the line ends between them, and the original place of each.
struct UnwrappedBytes {
    bytes: Vec<u8>,
    places: Vec<usize>,
}

impl UnwrappedBytes {
    fn new(bytes: &[u8]) -> Self {
        let kept = bytes.iter().enumerate().filter(|(_, byte)| !matches!(byte, b'\r' | b'\n'));
        let (places, bytes) = kept.map(|(at, byte)| (at, *byte)).unzip();
        Self { bytes, places }
    }

    /// Returns the original range of a range of these bytes.
    fn original(&self, range: &Range<usize>) -> Range<usize> {
        self.places[range.start]..self.places[range.end - 1] + 1
    }
}

/// The ranges that were found. They are added up, so that many overlapping ones cost no more than few.
struct CoveredRanges {
    /// At each place, the number of ranges that begin there less those that end there.
    changes: Vec<i64>,
}

impl CoveredRanges {
    fn new(length: usize) -> Self {
        Self { changes: vec![0; length + 1] }
    }

    fn add(&mut self, range: &Range<usize>) {
        self.changes[range.start] += 1;
        self.changes[range.end] -= 1;
    }

    /// Marks every place within a range.
    fn cover(&self, covered: &mut [bool]) {
        let mut open = 0;
        for (covered, change) in covered.iter_mut().zip(&self.changes) {
            open += change;
            *covered |= open > 0;
        }
    }
}

/// Masks secrets in output that arrives in chunks.
#[derive(Debug)]
pub struct MaskedStream {
    masks: SecretMasks,
    /// The bytes that may still become part of a secret, each with whether it already is.
    waiting: Vec<u8>,
    covered: Vec<bool>,
    /// Whether the last released byte was masked. Masked bytes directly after it need no second mask.
    in_cover: bool,
    /// The number of released bytes of the current line.
    column: usize,
}

impl MaskedStream {
    /// Creates a stream without output.
    pub fn new(masks: SecretMasks) -> Self {
        Self { masks, waiting: Vec::new(), covered: Vec::new(), in_cover: false, column: 0 }
    }

    /// Accepts a chunk and returns the bytes that it settles.
    pub fn push(&mut self, chunk: &[u8]) -> Vec<u8> {
        if self.masks.is_empty() {
            return chunk.to_vec();
        }
        self.waiting.extend_from_slice(chunk);
        self.covered.resize(self.waiting.len(), false);
        let mut found = CoveredRanges::new(self.waiting.len());
        let plain = self.masks.plain.search(&self.waiting, |range| found.add(&range));
        let joined = UnwrappedBytes::new(&self.waiting);
        let wrapped = self.masks.wrapped.search(&joined.bytes, |range| {
            found.add(&joined.original(&range));
        });
        found.cover(&mut self.covered);
        let settled = self.waiting.len() - plain.max(self.wrapped_end(&joined, wrapped));
        self.settle(settled)
    }

    /// Returns the waiting bytes, because no more output comes.
    pub fn finish(&mut self) -> Vec<u8> {
        self.settle(self.waiting.len())
    }

    /// Returns whether bytes wait for what follows them.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns how many bytes at the end may begin a secret that continues in the next line, if `begun` bytes may
    /// without their line ends. Only long lines count as wrapped: the ends of others are not held back.
    fn wrapped_end(&self, joined: &UnwrappedBytes, begun: usize) -> usize {
        let ends_line = self.waiting.ends_with(b"\n");
        let line = self.waiting.iter().rev().skip(1).take_while(|byte| **byte != b'\n').count();
        let is_long = self.column + line >= WRAP_MIN;
        match begun {
            0 => 0,
            _ if ends_line && !is_long => 0,
            length => {
                let held = self.waiting.len() - joined.places[joined.bytes.len() - length];
                // More line ends than text: it was not wrapped, and the wait must have a limit.
                if held <= 2 * self.masks.wrapped.longest { held } else { 0 }
            }
        }
    }

    fn settle(&mut self, count: usize) -> Vec<u8> {
        let mut settled = Vec::with_capacity(count);
        for (byte, covered) in self.waiting.drain(..count).zip(self.covered.drain(..count)) {
            if !covered {
                settled.push(byte);
            } else if !self.in_cover {
                settled.extend_from_slice(MASK.as_bytes());
            }
            self.in_cover = covered;
            self.column = if byte == b'\n' { 0 } else { self.column + 1 };
        }
        settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "hunter2/käse+\"x\"\nsecond line";

    fn masks() -> SecretMasks {
        SecretMasks::new([("TOKEN", SECRET), ("OTHER", "abcabcab")]).expect("both are long enough")
    }

    fn encoded(text: &[u8]) -> String {
        String::from_utf8(wrapped_forms(text).swap_remove(0)).expect("base64 is ASCII")
    }

    fn hex(text: &str) -> String {
        text.bytes().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
    }

    fn hex_with(text: &str, between: &str) -> String {
        hex(text).as_bytes().chunks(2).map(String::from_utf8_lossy).fold(
            String::new(),
            |all, two| {
                if all.is_empty() && between != "\\x" {
                    two.into_owned()
                } else {
                    all + between + &two
                }
            },
        )
    }

    /// Escapes every UTF-16 unit of a text.
    fn utf16(text: &str, escape: impl Fn(u16) -> String) -> String {
        text.encode_utf16().map(escape).collect()
    }

    /// Breaks a text into lines of 50 bytes.
    fn wrapped(text: &str) -> String {
        let lines = text.as_bytes().chunks(50).map(String::from_utf8_lossy);
        lines.flat_map(|line| [line, "\n".into()]).collect()
    }

    /// Returns texts that contain a secret, each with what may be seen of it.
    fn leaks() -> Vec<(Vec<u8>, &'static str)> {
        let json = serde_json::json!({ "token": SECRET }).to_string();
        vec![
            (format!("token is {SECRET}.").into_bytes(), "token is ***."),
            (b"the second line alone".to_vec(), "the *** alone"),
            (b"?q=hunter2%2Fk%C3%A4se%2B%22x%22%0Asecond%20line&r".to_vec(), "?q=***&r"),
            (b"?q=hunter2%2fk%c3%a4se%2b%22x%22%0asecond%20line&r".to_vec(), "?q=***&r"),
            (b"?q=hunter2/k%C3%A4se%2B%22x%22%0Asecond+line&r".to_vec(), "?q=***&r"),
            ("<b>hunter2/k\u{e4}se+&quot;x&quot;\nsecond line</b>".into(), "<b>***</b>"),
            (b"[hunter2/k\\u00e4se+\\\"x\\\"\\nsecond line]".to_vec(), "[***]"),
            (b"[hunter2\\/k\\u00E4se+\\u0022x\\u0022\\nsecond line]".to_vec(), "[***]"),
            (format!("0x{}", hex(SECRET)).into_bytes(), "0x***"),
            (format!("0x{}", hex(SECRET).to_uppercase()).into_bytes(), "0x***"),
            (wrapped(&hex(SECRET)).into_bytes(), "***\n"),
            (format!("<{}>", hex_with(SECRET, ":")).into_bytes(), "<***>"),
            (format!("<{}>", hex_with(SECRET, " ").to_uppercase()).into_bytes(), "<***>"),
            (format!("<{}>", hex_with(SECRET, "\\x")).into_bytes(), "<\\x***>"),
            (b"b'hunter2/k\\xc3\\xa4se+\"x\"\\nsecond line'".to_vec(), "b'***'"),
            (utf16(SECRET, |unit| format!("\\u{unit:04x}")).into_bytes(), "***"),
            (utf16(SECRET, |unit| format!("\\u{unit:04X}")).into_bytes(), "***"),
            (utf16(SECRET, |unit| format!("&#{unit};")).into_bytes(), "***"),
            (utf16(SECRET, |unit| format!("&#x{unit:x};")).into_bytes(), "***"),
            (b"<i>hunter2/k&#228;se+&#34;x&#34;\nsecond line</i>".to_vec(), "<i>***</i>"),
            (b"<i>hunter2/k&#xE4;se+&quot;x&quot;\nsecond line</i>".to_vec(), "<i>***</i>"),
            (json.into_bytes(), "{\"token\":\"***\"}"),
            (b"xxabcabcabcabcyy".to_vec(), "xx***cyy"),
        ]
    }

    #[test]
    fn secret_is_masked_wherever_its_text_is_cut() {
        let masks = masks();
        for (text, seen) in leaks() {
            for cut in 0..=text.len() {
                for second in cut..=text.len() {
                    let mut stream = MaskedStream::new(masks.clone());
                    let mut out = stream.push(&text[..cut]);
                    out.extend(stream.push(&text[cut..second]));
                    out.extend(stream.push(&text[second..]));
                    out.extend(stream.finish());
                    assert_eq!(String::from_utf8_lossy(&out), seen, "cut at {cut} and {second}");
                }
            }
        }
    }

    #[test]
    fn secret_within_a_longer_base64_text_is_masked() {
        for before in ["", "a", "ab", "abc"] {
            let text = encoded(format!("{before}{SECRET} and more behind it").as_bytes());
            let covered = masks().cover(&text);
            assert!(covered.contains(MASK), "{covered}");
            for window in encoded(SECRET.as_bytes()).as_bytes().windows(8) {
                let window = std::str::from_utf8(window).expect("base64 is ASCII");
                assert!(!covered.contains(window), "{window} of {covered}");
            }
        }
    }

    #[test]
    fn secret_in_wrapped_base64_is_masked() {
        let key = "-----BEGIN KEY-----\n".to_owned() + &"Zm9vYmFyYmF6cXV4".repeat(12);
        let masks = SecretMasks::new([("KEY", key.as_str())]).expect("it is long enough");
        for before in ["", "a", "ab"] {
            let text = wrapped(&encoded(format!("{before}{key}").as_bytes()));
            let mut stream = MaskedStream::new(masks.clone());
            let mut out = Vec::new();
            for line in text.split_inclusive('\n') {
                out.extend(stream.push(line.as_bytes()));
            }
            out.extend(stream.finish());
            let out = String::from_utf8(out).expect("it is ASCII");
            assert!(out.len() < 10, "{out}");
        }
    }

    #[test]
    fn secret_in_base64_of_any_usual_line_length_is_masked() {
        let key = "a-key-with-no-period/".to_owned() + &"Zm9vYmFyYmF6cXV4".repeat(30);
        let masks = SecretMasks::new([("KEY", key.as_str())]).expect("it is long enough");
        for (width, line_end) in [(64, "\n"), (76, "\n"), (64, "\r\n"), (76, "\r\n"), (48, "\n")] {
            let text = encoded(key.as_bytes());
            let lines = text.as_bytes().chunks(width).map(String::from_utf8_lossy);
            let text: String = lines.map(|line| line + line_end).map(String::from).collect();
            for chunk in [1, 7, 65, text.len()] {
                let mut stream = MaskedStream::new(masks.clone());
                let mut out = Vec::new();
                text.as_bytes().chunks(chunk).for_each(|part| out.extend(stream.push(part)));
                out.extend(stream.finish());
                let out = String::from_utf8_lossy(&out);
                assert!(out.starts_with(MASK) && out.len() < 8, "{width} in {chunk}: {out}");
            }
        }
    }

    #[test]
    fn line_ends_after_the_beginning_of_a_secret_are_held_up_to_a_limit() {
        let masks = masks();
        let mut stream = MaskedStream::new(masks.clone());
        stream.push(&wrapped_forms(SECRET.as_bytes())[0][..4]);
        let bound = 3 * masks.wrapped.longest;
        for _ in 0..bound {
            stream.push(b"\r\r\r\r");
            assert!(stream.waiting.len() <= bound, "{} bytes wait", stream.waiting.len());
        }
    }

    #[test]
    fn output_that_almost_repeats_a_large_secret_is_read_in_linear_time() {
        let secret = "a".repeat(60_000);
        let almost = secret.clone() + "b";
        let masks = SecretMasks::new([("LARGE", secret.as_str()), ("ALMOST", almost.as_str())])
            .expect("it is long enough");
        let mut stream = MaskedStream::new(masks);
        let output = vec![b'a'; 400_000];
        let begun = tokio::time::Instant::now();
        let mut shown: usize = output.chunks(20_000).map(|chunk| stream.push(chunk).len()).sum();
        shown += stream.finish().len();
        assert_eq!(shown, MASK.len(), "all of it is the secret");
        assert!(begun.elapsed().as_secs() < 20, "it took {:?}", begun.elapsed());
    }

    #[test]
    fn harmless_output_is_unchanged_and_not_held_back() {
        let mut stream = MaskedStream::new(masks());
        assert_eq!(stream.push(b"compiling 1 of 3\n"), b"compiling 1 of 3\n");
        assert!(!stream.is_waiting());
        assert_eq!(stream.push(b"hunt"), b"", "it may become the secret");
        assert_eq!(stream.push(b"ing"), b"hunting");
    }

    #[test]
    fn secret_too_short_to_mask_is_refused() {
        assert_eq!(SecretMasks::new([("A", "")]).err(), Some(MaskError::TooShort("A".to_owned())));
        assert_eq!(
            SecretMasks::new([("A", "12345")]).err(),
            Some(MaskError::TooShort("A".to_owned()))
        );
    }
}
