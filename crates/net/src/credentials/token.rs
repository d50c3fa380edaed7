//! Creates tokens.

use std::{fmt, io};

use windlass_core::access::SecretDigest;

use super::worker_secret::random_bytes;

/// The prefix of every token, by which secret scanners recognise tokens.
const PREFIX: &str = "wl_";

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A new token. It is shown once; afterwards only its digest is kept.
pub struct TokenSecret(String);

impl TokenSecret {
    /// Creates a random token: 32 bytes in 43 characters that need no escaping in a URL.
    pub fn generate() -> io::Result<Self> {
        Ok(Self(format!("{PREFIX}{}", url_safe(&random_bytes()?))))
    }

    /// Returns the token as the user sees it.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Returns the digest, which is what the controller keeps.
    pub fn digest(&self) -> SecretDigest {
        SecretDigest::new(*blake3::hash(self.0.as_bytes()).as_bytes())
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSecret(…)")
    }
}

/// Encodes in URL-safe Base64 (RFC 4648, section 5) without padding.
fn url_safe(bytes: &[u8]) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let padded = [0, 1, 2].map(|at| group.get(at).copied().unwrap_or(0));
        let bits = u32::from_be_bytes([0, padded[0], padded[1], padded[2]]);
        let digit = |at: u32| char::from(DIGITS[(bits >> (18 - 6 * at) & 63) as usize]);
        text.extend((0..4).take(group.len() + 1).map(digit));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_random_after_a_known_prefix() {
        let token = TokenSecret::generate().unwrap();
        assert_eq!((token.text().len(), token.text().starts_with("wl_")), (46, true));
        assert!(token.text()[3..].bytes().all(|byte| DIGITS.contains(&byte)));
        assert_ne!(TokenSecret::generate().unwrap().text(), token.text());
        assert!(!format!("{token:?}").contains(token.text()));
    }

    #[test]
    fn base64_matches_the_standard() {
        let cases = [("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg")];
        for (bytes, text) in cases {
            assert_eq!(url_safe(bytes.as_bytes()), text);
        }
        assert_eq!(url_safe(&[0xfb, 0xff, 0xfe]), "-__-");
    }
}
