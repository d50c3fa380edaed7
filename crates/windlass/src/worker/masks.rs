//! Secrets in what steps print: covered before anybody sees them.
//!
//! A secret is found in every form in which a step is likely to print it: as it is, each long line of it, and encoded as
//! base64, for URLs and in JSON. It is found wherever the chunks of the output are cut: bytes that may be the beginning
//! of a secret wait for what follows them.

use aho_corasick::{AhoCorasick, MatchKind};

/// What stands in the place of a secret.
pub const COVER: &str = "***";

/// A line of a secret that is shorter is found everywhere in harmless text.
const LINE_MIN: usize = 6;

/// Why a secret cannot be covered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaskError {
    /// It would have to be covered everywhere, or nowhere.
    #[error(
        "secret {0} is empty or a single byte, which cannot be told from other output: set it to its real value"
    )]
    TooShort(String),
    /// There are more than can be looked for.
    #[error("the secrets are too large to be looked for in the output")]
    TooLarge,
}

/// Finds secrets in a stream of bytes and covers them.
#[derive(Clone, Debug, Default)]
pub struct Masks {
    finder: Option<AhoCorasick>,
    patterns: Vec<Vec<u8>>,
    longest: usize,
}

impl Masks {
    /// Looks for these secrets, given by name and value.
    pub fn new<'a>(
        secrets: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, MaskError> {
        let mut patterns: Vec<Vec<u8>> = Vec::new();
        for (name, value) in secrets {
            if value.len() < 2 {
                return Err(MaskError::TooShort(name.to_owned()));
            }
            patterns.extend(forms(value));
        }
        patterns.retain(|pattern| pattern.len() >= 2);
        patterns.sort();
        patterns.dedup();
        if patterns.is_empty() {
            return Ok(Self::default());
        }
        let finder = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&patterns);
        let finder = finder.map_err(|_| MaskError::TooLarge)?;
        let longest = patterns.iter().map(Vec::len).max().unwrap_or(0);
        Ok(Self { finder: Some(finder), patterns, longest })
    }

    /// Covers secrets in a whole text.
    pub fn cover(&self, text: &str) -> String {
        let mut stream = MaskedStream::new(self.clone());
        let mut covered = stream.push(text.as_bytes());
        covered.extend(stream.finish());
        // What is left between covers may begin or end within a character.
        String::from_utf8_lossy(&covered).into_owned()
    }

    /// Whether a text holds a secret.
    pub fn find_in(&self, text: &str) -> bool {
        self.finder.as_ref().is_some_and(|finder| finder.is_match(text))
    }

    fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// How many bytes at the end may be the beginning of a secret.
    fn unsettled(&self, bytes: &[u8]) -> usize {
        let most = bytes.len().min(self.longest.saturating_sub(1));
        let begins = |length: &usize| {
            let end = &bytes[bytes.len() - length..];
            self.patterns.iter().any(|pattern| pattern.len() > *length && pattern.starts_with(end))
        };
        (1..=most).rev().find(begins).unwrap_or(0)
    }
}

/// Covers secrets in output that comes chunk by chunk.
#[derive(Debug)]
pub struct MaskedStream {
    masks: Masks,
    /// Bytes that are not settled yet, each with whether it is part of a secret.
    waiting: Vec<u8>,
    covered: Vec<bool>,
    /// Whether the last byte that was settled was covered: what follows it directly needs no second cover.
    in_cover: bool,
}

impl MaskedStream {
    /// A stream of which nothing has come yet.
    pub fn new(masks: Masks) -> Self {
        Self { masks, waiting: Vec::new(), covered: Vec::new(), in_cover: false }
    }

    /// Takes in a chunk and returns what is settled by it.
    pub fn push(&mut self, chunk: &[u8]) -> Vec<u8> {
        if self.masks.is_empty() {
            return chunk.to_vec();
        }
        self.waiting.extend_from_slice(chunk);
        self.covered.resize(self.waiting.len(), false);
        if let Some(finder) = &self.masks.finder {
            for found in finder.find_overlapping_iter(&self.waiting) {
                self.covered[found.range()].fill(true);
            }
        }
        let settled = self.waiting.len() - self.masks.unsettled(&self.waiting);
        self.settle(settled)
    }

    /// Returns what was waiting: nothing more comes.
    pub fn finish(&mut self) -> Vec<u8> {
        self.settle(self.waiting.len())
    }

    /// Whether bytes wait for what follows them.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn settle(&mut self, count: usize) -> Vec<u8> {
        let mut settled = Vec::with_capacity(count);
        for (byte, covered) in self.waiting.drain(..count).zip(self.covered.drain(..count)) {
            if !covered {
                settled.push(byte);
            } else if !self.in_cover {
                settled.extend_from_slice(COVER.as_bytes());
            }
            self.in_cover = covered;
        }
        settled
    }
}

/// Every form in which a secret is looked for.
fn forms(value: &str) -> Vec<Vec<u8>> {
    let mut forms = vec![value.as_bytes().to_vec()];
    let lines = value.lines().map(str::trim).filter(|line| line.len() >= LINE_MIN);
    forms.extend(lines.map(|line| line.as_bytes().to_vec()));
    forms.extend(base64(value.as_bytes()));
    for hex in ["0123456789ABCDEF", "0123456789abcdef"] {
        forms.push(percent_encoded(value, hex.as_bytes()));
    }
    let json = serde_json::Value::from(value).to_string();
    forms.push(json.as_bytes()[1..json.len() - 1].to_vec());
    forms
}

/// The characters of base64 that depend on the secret alone, for each of the three ways in which it can lie in a longer
/// text, in both alphabets.
fn base64(secret: &[u8]) -> Vec<Vec<u8>> {
    const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const FOR_URLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut forms = Vec::new();
    for before in 0..3_usize {
        let first_bit = before * 8;
        let last_bit = first_bit + secret.len() * 8;
        // Six bits a character: only those that lie wholly within the secret.
        let characters = first_bit.div_ceil(6)..last_bit / 6;
        for alphabet in [STANDARD, FOR_URLS] {
            let sextet = |at: usize| sextet(secret, at * 6 - first_bit);
            forms.push(characters.clone().map(|at| alphabet[sextet(at)]).collect());
        }
    }
    // A few characters say too little: they would be found in harmless text.
    forms.retain(|form: &Vec<u8>| form.len() >= LINE_MIN.min(secret.len()));
    forms
}

/// The six bits from a bit on.
fn sextet(bytes: &[u8], from: usize) -> usize {
    let bit = |at: usize| usize::from(bytes[at / 8] >> (7 - at % 8) & 1);
    (from..from + 6).fold(0, |bits, at| bits << 1 | bit(at))
}

fn percent_encoded(text: &str, hex: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(byte);
        } else {
            encoded.extend([b'%', hex[usize::from(byte >> 4)], hex[usize::from(byte & 15)]]);
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "hunter2/käse+\"x\"\nsecond line";

    fn masks() -> Masks {
        Masks::new([("TOKEN", SECRET), ("OTHER", "abcabcab")]).expect("both are long enough")
    }

    fn encoded(text: &[u8]) -> String {
        String::from_utf8(base64(text).swap_remove(0)).expect("base64 is ASCII")
    }

    /// Every text in which a secret must not be seen, and what may be seen of it.
    fn leaks() -> Vec<(Vec<u8>, &'static str)> {
        let json = serde_json::json!({ "token": SECRET }).to_string();
        vec![
            (format!("token is {SECRET}.").into_bytes(), "token is ***."),
            (b"the second line alone".to_vec(), "the *** alone"),
            (
                format!(
                    "?q={}&r",
                    String::from_utf8_lossy(&percent_encoded(SECRET, b"0123456789ABCDEF"))
                )
                .into_bytes(),
                "?q=***&r",
            ),
            (json.into_bytes(), "{\"token\":\"***\"}"),
            (b"xxabcabcabcabcyy".to_vec(), "xx***cyy"),
        ]
    }

    #[test]
    fn a_secret_is_covered_wherever_its_text_is_cut() {
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
    fn a_secret_within_a_longer_base64_text_is_covered_as_far_as_it_goes() {
        for before in ["", "a", "ab", "abc"] {
            let text = encoded(format!("{before}{SECRET} and more behind it").as_bytes());
            let covered = masks().cover(&text);
            assert!(covered.contains(COVER), "{covered}");
            for window in encoded(SECRET.as_bytes()).as_bytes().windows(8) {
                let window = std::str::from_utf8(window).expect("base64 is ASCII");
                assert!(!covered.contains(window), "{window} of {covered}");
            }
        }
    }

    #[test]
    fn what_is_harmless_is_left_alone_and_not_held_back() {
        let mut stream = MaskedStream::new(masks());
        assert_eq!(stream.push(b"compiling 1 of 3\n"), b"compiling 1 of 3\n");
        assert!(!stream.is_waiting());
        assert_eq!(stream.push(b"hunt"), b"", "it may become the secret");
        assert_eq!(stream.push(b"ing"), b"hunting");
    }

    #[test]
    fn a_secret_that_cannot_be_told_from_other_output_is_refused() {
        assert_eq!(Masks::new([("A", "")]).err(), Some(MaskError::TooShort("A".to_owned())));
        assert_eq!(Masks::new([("A", "x")]).err(), Some(MaskError::TooShort("A".to_owned())));
    }
}
