//! The conformance suite in memory, and the bound.

use windlass_core::object::ObjectId;
use windlass_core::time::Time;

use super::interface::{ObjectInventory as _, ObjectStore as _};
use super::memory::{MemoryObjects, PLACE};
use crate::conformance::{self, SharedStorage, block_on};
use crate::db::StoreError;

fn store(bytes_max: usize) -> MemoryObjects {
    MemoryObjects::with_capacity(bytes_max, || Time::from_millis(1_790_000_000_000))
}

#[test]
fn memory_conforms() {
    conformance::check_object_store("memory", || SharedStorage::objects(store(1 << 30)));
}

#[test]
fn all_objects_and_uploads_have_a_bound() {
    let (store, id) = (store(10), ObjectId::of);
    let put = |bytes: &[u8]| block_on(store.put_batch(vec![(id(bytes), bytes.to_vec())]));
    let full = StoreError::Full { place: PLACE.to_owned() };
    assert_eq!(put(b"12345"), Ok(()));
    assert_eq!(put(b"123456"), Err(full.clone().into()));
    assert_eq!(put(b"12345"), Ok(()), "a repeat needs no space");
    let large = id(b"123456");
    assert_eq!(block_on(store.append(large, 0, b"123456".to_vec())), Err(full.into()));
    block_on(store.remove(vec![id(b"12345")], Time::from_millis(u64::MAX))).unwrap();
    assert_eq!(put(b"1234567890"), Ok(()));
}
