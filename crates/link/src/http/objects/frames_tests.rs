//! Bodies of ids and objects: they read as they were written, and every other body is refused.

use windlass_core::object::ObjectId;
use windlass_store::objects::{BATCH_BYTES_MAX, BATCH_OBJECTS_MAX, BLOCK};

use super::frames::{
    IDS_BODY_MAX, OBJECTS_BODY_MAX, ObjectFrameError, decode_ids, decode_objects, encode_ids,
    encode_objects,
};

type TestObjects = Vec<(ObjectId, Vec<u8>)>;

fn objects(sizes: &[usize]) -> TestObjects {
    sizes.iter().map(|size| (ObjectId::of(&size.to_le_bytes()), vec![7; *size])).collect()
}

fn encoded(objects: &TestObjects) -> Vec<u8> {
    encode_objects(objects.clone())
}

/// A body with this number of objects, and one object that claims this size.
fn claiming(count: u32, size: u32) -> Vec<u8> {
    [&count.to_le_bytes()[..], &[0; ObjectId::BYTES], &size.to_le_bytes()].concat()
}

#[test]
fn objects_read_as_they_were_written() {
    for sizes in [&[][..], &[0], &[1, 0, 2, 2], &[BLOCK, 3]] {
        let objects = objects(sizes);
        assert_eq!(decode_objects(&encoded(&objects)), Ok(objects));
    }
}

#[test]
fn largest_bodies_are_read() {
    let ids = vec![ObjectId::of(b"a"); BATCH_OBJECTS_MAX];
    let body = encode_ids(&ids);
    assert_eq!((body.len(), decode_ids(&body)), (IDS_BODY_MAX, Ok(ids)));
    let mut sizes = vec![BATCH_BYTES_MAX / BATCH_OBJECTS_MAX; BATCH_OBJECTS_MAX];
    sizes[0] += BATCH_BYTES_MAX % BATCH_OBJECTS_MAX;
    let objects = objects(&sizes);
    let body = encoded(&objects);
    assert_eq!(body.len(), OBJECTS_BODY_MAX);
    assert!(decode_objects(&body) == Ok(objects));
}

#[test]
fn body_that_ends_anywhere_is_refused() {
    let body = encoded(&objects(&[3, 0, 5]));
    for end in 0..body.len() {
        assert_eq!(decode_objects(&body[..end]), Err(ObjectFrameError::Cut), "{end}");
    }
    let ids = encode_ids(&[ObjectId::of(b"a"), ObjectId::of(b"b")]);
    for end in (0..ids.len()).filter(|end| end % ObjectId::BYTES != 0) {
        assert_eq!(decode_ids(&ids[..end]), Err(ObjectFrameError::Cut), "{end}");
    }
}

#[test]
fn hostile_numbers_are_refused_before_anything_is_allocated() {
    let most = u32::try_from(BATCH_OBJECTS_MAX).unwrap();
    let block = u32::try_from(BLOCK).unwrap();
    for (count, size, refused) in [
        (u32::MAX, 0, ObjectFrameError::TooManyObjects(u32::MAX as usize)),
        (most + 1, 0, ObjectFrameError::TooManyObjects(BATCH_OBJECTS_MAX + 1)),
        (most, 0, ObjectFrameError::Cut),
        (1, u32::MAX, ObjectFrameError::TooLarge(u32::MAX as usize)),
        (1, block + 1, ObjectFrameError::TooLarge(BLOCK + 1)),
        (1, block, ObjectFrameError::Cut),
        (0, 0, ObjectFrameError::TooLong(ObjectId::BYTES + 4)),
    ] {
        assert_eq!(decode_objects(&claiming(count, size)), Err(refused), "{count} {size}");
    }
    let many = vec![0; IDS_BODY_MAX + ObjectId::BYTES];
    let refused = ObjectFrameError::TooManyObjects(BATCH_OBJECTS_MAX + 1);
    assert_eq!(decode_ids(&many), Err(refused));
}

#[test]
fn objects_of_more_bytes_than_a_batch_are_refused() {
    let body = encoded(&objects(&[BLOCK; BATCH_BYTES_MAX / BLOCK + 1]));
    assert_eq!(decode_objects(&body), Err(ObjectFrameError::TooManyBytes));
}

#[test]
fn no_changed_byte_makes_a_decoder_panic() {
    let body = encoded(&objects(&[3, 0, 5]));
    for (at, bit) in (0..body.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut changed = body.clone();
        changed[at] ^= 1 << bit;
        drop(decode_objects(&changed));
        drop(decode_ids(&changed));
    }
}
