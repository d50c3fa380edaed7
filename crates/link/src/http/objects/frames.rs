//! The bodies of requests and answers about several objects.
//!
//! ```text
//!  ids:      id (32) │ id │ …
//!  objects:  number of objects (4) │ id (32) │ size (4) │ bytes │ id │ …
//! ```
//!
//! Numbers are little-endian. Every number is compared with its limit and with the length of the body before anything is
//! allocated for it. A decoder does not compare bytes with their ids: the store does.

use windlass_core::object::ObjectId;
use windlass_store::objects::{BATCH_BYTES_MAX, BATCH_OBJECTS_MAX, BLOCK};

/// Maximum bytes of a body of ids.
pub const IDS_BODY_MAX: usize = BATCH_OBJECTS_MAX * ObjectId::BYTES;

/// Maximum bytes of a body of objects.
pub const OBJECTS_BODY_MAX: usize =
    NUMBER + BATCH_OBJECTS_MAX * (ObjectId::BYTES + NUMBER) + BATCH_BYTES_MAX;

const NUMBER: usize = 4;

/// Why a body is not one of ids or objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectFrameError {
    /// It ends too early.
    #[error("it ends within an object or an id")]
    Cut,
    /// It goes on after the last object.
    #[error("it has {0} bytes after its last object")]
    TooLong(usize),
    /// It has too many objects.
    #[error("it has {0} objects: at most {BATCH_OBJECTS_MAX}")]
    TooManyObjects(usize),
    /// An object is too large for a batch.
    #[error("an object in it has {0} bytes: at most {BLOCK}")]
    TooLarge(usize),
    /// The objects together are too large for a batch.
    #[error("its objects have more than {BATCH_BYTES_MAX} bytes")]
    TooManyBytes,
}

/// Encodes ids.
pub fn encode_ids(ids: &[ObjectId]) -> Vec<u8> {
    ids.iter().flat_map(|id| *id.as_bytes()).collect()
}

/// Decodes at most [`BATCH_OBJECTS_MAX`] ids.
pub fn decode_ids(bytes: &[u8]) -> Result<Vec<ObjectId>, ObjectFrameError> {
    let (ids, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(ObjectFrameError::Cut);
    }
    check_count(ids.len())?;
    Ok(ids.iter().map(|id| ObjectId::new(*id)).collect())
}

/// Encodes objects in a buffer of exactly their size. Each object is dropped as soon as it is copied.
pub fn encode_objects(objects: Vec<(ObjectId, Vec<u8>)>) -> Vec<u8> {
    let sizes = objects.iter().map(|(_, bytes)| ObjectId::BYTES + NUMBER + bytes.len());
    let mut body = Vec::with_capacity(NUMBER + sizes.sum::<usize>());
    body.extend_from_slice(&to_number(objects.len()));
    for (id, bytes) in objects {
        body.extend_from_slice(id.as_bytes());
        body.extend_from_slice(&to_number(bytes.len()));
        body.extend_from_slice(&bytes);
    }
    body
}

/// Decodes the objects of a batch.
pub fn decode_objects(body: &[u8]) -> Result<Vec<(ObjectId, Vec<u8>)>, ObjectFrameError> {
    let mut rest = body;
    let count = take_number(&mut rest)?;
    check_count(count)?;
    // Each object takes some bytes, so a short body allocates little, whatever its number says.
    let most = rest.len() / (ObjectId::BYTES + NUMBER);
    if count > most {
        return Err(ObjectFrameError::Cut);
    }
    let (mut objects, mut left) = (Vec::with_capacity(count), BATCH_BYTES_MAX);
    for _ in 0..count {
        let (id, after) = rest.split_first_chunk().ok_or(ObjectFrameError::Cut)?;
        rest = after;
        let size = take_number(&mut rest)?;
        if size > BLOCK {
            return Err(ObjectFrameError::TooLarge(size));
        }
        left = left.checked_sub(size).ok_or(ObjectFrameError::TooManyBytes)?;
        let (bytes, after) = rest.split_at_checked(size).ok_or(ObjectFrameError::Cut)?;
        rest = after;
        objects.push((ObjectId::new(*id), bytes.to_vec()));
    }
    if rest.is_empty() { Ok(objects) } else { Err(ObjectFrameError::TooLong(rest.len())) }
}

fn check_count(count: usize) -> Result<(), ObjectFrameError> {
    if count > BATCH_OBJECTS_MAX { Err(ObjectFrameError::TooManyObjects(count)) } else { Ok(()) }
}

fn to_number(number: usize) -> [u8; NUMBER] {
    u32::try_from(number).expect("a batch is smaller").to_le_bytes()
}

fn take_number(rest: &mut &[u8]) -> Result<usize, ObjectFrameError> {
    let (number, after) = rest.split_first_chunk().ok_or(ObjectFrameError::Cut)?;
    *rest = after;
    // It is compared with a limit that fits.
    Ok(usize::try_from(u32::from_le_bytes(*number)).unwrap_or(usize::MAX))
}
