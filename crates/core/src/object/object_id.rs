//! The name of an object: the BLAKE3 hash of its bytes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of an object. Equal bytes have equal names, wherever and whenever they are stored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectId([u8; Self::BYTES]);

impl ObjectId {
    /// The size of a name in bytes.
    pub const BYTES: usize = blake3::OUT_LEN;

    /// Creates the name from a hash.
    pub const fn new(hash: [u8; Self::BYTES]) -> Self {
        Self(hash)
    }

    /// Returns the name of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Parses the 64 hexadecimal digits in lower case that [`Display`](fmt::Display) writes; `None` for anything else, so
    /// that each object has one name as text.
    pub fn parse(text: &str) -> Option<Self> {
        let id = Self(*blake3::Hash::from_hex(text).ok()?.as_bytes());
        (id.to_string() == text).then_some(id)
    }

    /// Returns the hash.
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

/// The first digits are enough to find it in a list.
impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex()[..12])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_an_id_parses_to_the_same_id() {
        let id = ObjectId::of(b"hello");
        let text = id.to_string();
        assert_eq!(text, "ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f");
        assert_eq!(ObjectId::parse(&text), Some(id));
        assert_eq!(format!("{id:?}"), "ea8f163db386");
    }

    #[test]
    fn every_other_text_is_refused() {
        let text = ObjectId::of(b"hello").to_string();
        let long = format!("{text}0");
        for other in ["", "ea8f", &text[1..], &long, &text.to_uppercase(), &text.replace('e', "g")]
        {
            assert_eq!(ObjectId::parse(other), None, "{other}");
        }
    }
}
