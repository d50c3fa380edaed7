//! The tokens of the controller's token file.

use std::fmt;

use tokio::sync::watch;
use windlass_core::access::SecretDigest;

/// The shortest token: a shorter one could be guessed.
const TOKEN_MIN: usize = 16;

/// The most tokens in a file: one, and the next one during a rotation.
const TOKENS_MAX: usize = 2;

/// Tokens with all scopes that are in no store. They can be replaced while requests are in progress.
#[derive(Clone)]
pub struct FileTokens(watch::Sender<Vec<SecretDigest>>);

impl FileTokens {
    /// Keeps the digests of these tokens.
    pub fn new(tokens: &[String]) -> Self {
        Self(watch::Sender::new(digests(tokens)))
    }

    /// Replaces the tokens. Requests that were authorized by another token end.
    pub fn replace(&self, tokens: &[String]) {
        let fresh = digests(tokens);
        self.0.send_if_modified(|known| {
            let differs = *known != fresh;
            *known = fresh;
            differs
        });
    }

    pub(in crate::api) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Whether a token with this digest is in the file. The comparison takes constant time.
    pub(super) fn contains(&self, shown: SecretDigest) -> bool {
        self.0.borrow().iter().filter(|token| **token == shown).count() > 0
    }

    pub(super) fn watch(&self) -> watch::Receiver<Vec<SecretDigest>> {
        self.0.subscribe()
    }
}

impl fmt::Debug for FileTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileTokens({})", self.0.borrow().len())
    }
}

fn digests(tokens: &[String]) -> Vec<SecretDigest> {
    tokens.iter().map(|token| digest(token)).collect()
}

/// The digest of a token.
pub(in crate::api) fn digest(token: &str) -> SecretDigest {
    SecretDigest::new(*blake3::hash(token.as_bytes()).as_bytes())
}

/// Reads the tokens in the text of a file, one per line.
pub fn file_tokens(text: &str) -> Result<Vec<String>, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let tokens: Vec<String> = lines.map(str::to_owned).collect();
    let fits = |token: &String| {
        token.len() >= TOKEN_MIN && token.bytes().all(|byte| byte.is_ascii_graphic())
    };
    if tokens.is_empty() || !tokens.iter().all(fits) {
        return Err(format!(
            "a token is one word of at least {TOKEN_MIN} letters, digits or signs: `openssl rand -hex 32` makes one"
        ));
    }
    if tokens.len() > TOKENS_MAX {
        return Err(format!(
            "it has {} lines: there is one token, and while it is rotated a second",
            tokens.len()
        ));
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_file_has_one_or_two_tokens() {
        let (old, new) = ("0123456789abcdef", "fedcba9876543210");
        assert_eq!(file_tokens(&format!("{old}\n")), Ok(vec![old.to_owned()]));
        let both = vec![new.to_owned(), old.to_owned()];
        assert_eq!(file_tokens(&format!("{new}\r\n\n  {old}")), Ok(both));
        for bad in ["", "\n", "short", "a b c d e f g h i j k", &format!("{old}\n").repeat(3)] {
            assert!(file_tokens(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn replaced_token_is_not_accepted() {
        let tokens = FileTokens::new(&["old".to_owned(), "new".to_owned()]);
        assert!(tokens.contains(digest("old")) && tokens.contains(digest("new")));
        tokens.replace(&["new".to_owned()]);
        assert!(!tokens.contains(digest("old")) && tokens.contains(digest("new")));
        assert!(!format!("{tokens:?}").contains("new"));
    }
}
