//! The hashes of blocks, and that of their object.
//!
//! BLAKE3 is a tree. The hash of a block is a node of it, so the hash of an object follows from those of its blocks: a stored
//! object has the hashes of its blocks beside them, a reader compares their root with the id once, and then each block that it
//! reads with its hash. Nothing else needs a checksum.

use blake3::hazmat::{
    ChainingValue, HasherExt as _, Mode, left_subtree_len, merge_subtrees_non_root,
    merge_subtrees_root,
};
use windlass_core::object::ObjectId;

use crate::objects::interface::BLOCK;

/// The hash of a block, which is not that of an object with the same bytes.
pub(super) type BlockHash = ChainingValue;

/// Returns the hash of the block that begins at this offset of an object with several blocks.
pub(super) fn block_hash(at: u64, bytes: &[u8]) -> BlockHash {
    blake3::Hasher::new().set_input_offset(at).update(bytes).finalize_non_root()
}

/// Returns the object with these blocks, of which there are at least two. All but the last have [`BLOCK`] bytes.
pub(super) fn root(blocks: &[BlockHash]) -> ObjectId {
    let (left, right) = blocks.split_at(left_blocks(blocks.len()));
    let hash = merge_subtrees_root(&subtree(left), &subtree(right), Mode::Hash);
    ObjectId::new(*hash.as_bytes())
}

fn subtree(blocks: &[BlockHash]) -> BlockHash {
    match blocks {
        [block] => *block,
        blocks => {
            let (left, right) = blocks.split_at(left_blocks(blocks.len()));
            merge_subtrees_non_root(&subtree(left), &subtree(right), Mode::Hash)
        }
    }
}

/// Returns how many of the blocks are in the left subtree.
fn left_blocks(count: usize) -> usize {
    let left = left_subtree_len((count * BLOCK) as u64) / BLOCK as u64;
    usize::try_from(left).expect("fewer than there are blocks")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_of_blocks_is_the_hash_of_the_object() {
        for size in [BLOCK + 1, 2 * BLOCK - 1, 2 * BLOCK, 3 * BLOCK, 5 * BLOCK + 12_345] {
            let mut bytes = vec![0; size];
            blake3::Hasher::new().finalize_xof().fill(&mut bytes);
            let starts = (0..).step_by(BLOCK);
            let blocks: Vec<BlockHash> =
                starts.zip(bytes.chunks(BLOCK)).map(|(at, it)| block_hash(at, it)).collect();
            assert_eq!(root(&blocks), ObjectId::of(&bytes), "{size} bytes");
        }
    }
}
