//! Keys of supervised processes that are not steps.

use std::sync::atomic::{AtomicU64, Ordering};

use windlass_core::id::Fence;

/// Set in keys that are not fences. No cluster loses its store so often that a generation reaches it.
const INTERNAL_BIT: u64 = 1 << 63;

static NEXT: AtomicU64 = AtomicU64::new(INTERNAL_BIT);

/// Returns a key for a command of a function. A function may have several commands at a time under one lease. The guard
/// knows each by a key of its own, and the function itself by the fence.
pub(crate) fn internal_fence() -> Fence {
    Fence(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Returns whether this is such a key. It means nothing to a leader.
pub(super) const fn is_internal(key: Fence) -> bool {
    key.0 & INTERNAL_BIT != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_keys_are_distinct_and_never_fences() {
        let (one, other) = (internal_fence(), internal_fence());
        assert!(one != other && is_internal(one) && is_internal(other));
        assert!(!is_internal(Fence::new(1, 7)) && !is_internal(Fence(7)));
    }
}
