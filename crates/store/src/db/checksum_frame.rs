//! Bytes that can tell whether they are whole: a version, a checksum, and what they protect.
//!
//! ```text
//!  version (1) │ check (8: BLAKE3 of what follows) │ body
//! ```

const CHECK: usize = 8;

/// The bytes that carry a body.
pub fn encode_frame(version: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1 + CHECK + body.len());
    bytes.push(version);
    bytes.extend_from_slice(&checksum(body));
    bytes.extend_from_slice(body);
    bytes
}

/// The body, or what is wrong with the bytes, which are those of `what`.
pub fn decode_frame<'a>(what: &str, version: u8, bytes: &'a [u8]) -> Result<&'a [u8], String> {
    let (found, rest) = bytes.split_first().ok_or_else(|| format!("{what} without bytes"))?;
    if *found != version {
        return Err(format!("{what} of version {found}, this windlass knows {version}"));
    }
    let cut = || format!("{what} cut short");
    let (found, body) = rest.split_at_checked(CHECK).ok_or_else(cut)?;
    if found != checksum(body) {
        return Err(format!("{what} whose bytes do not match their checksum"));
    }
    Ok(body)
}

fn checksum(body: &[u8]) -> [u8; CHECK] {
    let hash = blake3::hash(body);
    hash.as_bytes()[..CHECK].try_into().expect("a BLAKE3 hash is longer")
}
