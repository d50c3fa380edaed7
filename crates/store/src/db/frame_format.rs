//! Bytes with a version and a checksum.
//!
//! ```text
//!  version (1) │ check (8: BLAKE3 of version and body) │ body
//! ```
//!
//! Versions begin at 1. A body of an older version is upcast when it is read, one version at a time; a body of a newer version
//! is refused.

use std::borrow::Cow;

const CHECK: usize = 8;

/// Converts a body of one version to the next version, or describes why it cannot.
pub type Upcast = fn(&[u8]) -> Result<Vec<u8>, String>;

/// A format of framed bytes.
#[derive(Clone, Copy, Debug)]
pub struct FrameFormat {
    /// The content, for messages: `a batch of events`.
    pub content: &'static str,
    /// The conversions from older versions: the first from version 1 to 2, the next from 2 to 3. The version that is written
    /// is one more than their number.
    pub upcasts: &'static [Upcast],
}

/// The reason why framed bytes cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A newer windlass wrote them.
    #[error(
        "{content} has version {found}, but this windlass reads versions up to {known}: use the windlass that wrote it, \
         or a newer one"
    )]
    Newer {
        /// The content.
        content: &'static str,
        /// Its version.
        found: u8,
        /// The newest version that this windlass reads.
        known: u8,
    },
    /// They are not what was written.
    #[error("{0}")]
    Damaged(String),
}

impl FrameFormat {
    /// Returns the version that is written.
    pub fn version(&self) -> u8 {
        u8::try_from(self.upcasts.len() + 1).expect("a format has few versions")
    }

    /// Frames a body of the current version.
    pub fn encode(&self, body: &[u8]) -> Vec<u8> {
        let version = self.version();
        let mut bytes = Vec::with_capacity(1 + CHECK + body.len());
        bytes.push(version);
        bytes.extend_from_slice(&checksum(version, body));
        bytes.extend_from_slice(body);
        bytes
    }

    /// Returns the body, upcast to the current version.
    pub fn decode<'a>(&self, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, FrameError> {
        let cut = || self.damaged("is cut short");
        let (version, rest) = bytes.split_first().ok_or_else(cut)?;
        let (check, body) = rest.split_at_checked(CHECK).ok_or_else(cut)?;
        if check != checksum(*version, body) {
            return Err(self.damaged("does not match its checksum"));
        }
        let mut body = Cow::Borrowed(body);
        for upcast in self.upcasts_from(*version)? {
            let next = upcast(&body);
            body = Cow::Owned(next.map_err(|error| self.damaged(&format!("is invalid: {error}")))?);
        }
        Ok(body)
    }

    /// Returns an error about the body.
    pub fn damaged(&self, what: &str) -> FrameError {
        FrameError::Damaged(format!("{} {what}", self.content))
    }

    /// Returns the conversions from a version to the current one.
    fn upcasts_from(&self, version: u8) -> Result<&'static [Upcast], FrameError> {
        let Some(known) = version.checked_sub(1) else {
            return Err(self.damaged("has version 0, which does not exist"));
        };
        let (content, found, known_max) = (self.content, version, self.version());
        let newer = FrameError::Newer { content, found, known: known_max };
        self.upcasts.get(usize::from(known)..).ok_or(newer)
    }
}

fn checksum(version: u8, body: &[u8]) -> [u8; CHECK] {
    let hash = blake3::Hasher::new().update(&[version]).update(body).finalize();
    hash.as_bytes()[..CHECK].try_into().expect("a BLAKE3 hash is longer")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: FrameFormat = FrameFormat { content: "a note", upcasts: &[] };
    const THIRD: FrameFormat =
        FrameFormat { content: "a note", upcasts: &[append_b, |body| Ok([body, b"c"].concat())] };

    fn append_b(body: &[u8]) -> Result<Vec<u8>, String> {
        if body.is_empty() { Err("it is empty".to_owned()) } else { Ok([body, b"b"].concat()) }
    }

    #[test]
    fn body_of_each_older_version_is_upcast_in_order() {
        let second = FrameFormat { content: "a note", upcasts: &[append_b] };
        let read = |format: FrameFormat| THIRD.decode(&format.encode(b"a")).map(Cow::into_owned);
        assert_eq!(read(FIRST), Ok(b"abc".to_vec()));
        assert_eq!(read(second), Ok(b"ac".to_vec()));
        assert_eq!(read(THIRD), Ok(b"a".to_vec()));
    }

    #[test]
    fn newer_version_is_refused_by_name() {
        let error = FIRST.decode(&THIRD.encode(b"a")).unwrap_err();
        assert_eq!(error, FrameError::Newer { content: "a note", found: 3, known: 1 });
        let text = "a note has version 3, but this windlass reads versions up to 1: use the windlass that wrote it, or a \
                    newer one";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn body_that_cannot_be_upcast_is_damaged() {
        let error = THIRD.decode(&FIRST.encode(b"")).unwrap_err();
        assert_eq!(error, FrameError::Damaged("a note is invalid: it is empty".to_owned()));
    }

    #[test]
    fn changed_version_is_damage() {
        let mut bytes = FIRST.encode(b"a");
        for version in [0, 2, 3] {
            bytes[0] = version;
            let error = THIRD.decode(&bytes).unwrap_err();
            assert_eq!(error.to_string(), "a note does not match its checksum");
        }
    }
}
