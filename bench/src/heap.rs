//! An allocator that can count: it gives the exact number of live bytes on the heap without a system call.
//!
//! The allocator is mimalloc, as docs/guides/rust.md recommends for programs of many small steps. It counts the
//! requested bytes, without the overhead of the allocator. The counters are plain loads and stores, exact while a
//! single thread works. Otherwise nothing is counted, so that timed rows with several threads do not share a counter.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use mimalloc::MiMalloc;

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator {
    counts: AtomicBool::new(false),
    live: AtomicUsize::new(0),
    peak: AtomicUsize::new(0),
};

/// mimalloc, with counters.
struct CountingAllocator {
    counts: AtomicBool,
    live: AtomicUsize,
    peak: AtomicUsize,
}

impl CountingAllocator {
    fn count(&self, freed: usize, taken: usize) {
        if !self.counts.load(Relaxed) {
            return;
        }
        let live = self.live.load(Relaxed).wrapping_sub(freed).wrapping_add(taken);
        self.live.store(live, Relaxed);
        // A freed block may have been allocated before counting began.
        if live.cast_signed() > self.peak.load(Relaxed).cast_signed() {
            self.peak.store(live, Relaxed);
        }
    }
}

#[expect(
    unsafe_code,
    reason = "the trait of allocators is unsafe; every call goes to mimalloc unchanged"
)]
// SAFETY: each method passes its arguments to `MiMalloc`, which upholds the contract, and only counts in addition.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count(0, layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.count(0, layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        self.count(layout.size(), 0);
        // SAFETY: the caller's promise is passed on.
        unsafe { MiMalloc.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.count(layout.size(), size);
        // SAFETY: the caller's promise is passed on.
        unsafe { MiMalloc.realloc(at, layout, size) }
    }
}

/// A count of the heap that lasts until it is dropped.
pub(crate) struct HeapCount(());

impl HeapCount {
    /// Begins to count; blocks that exist now are not counted.
    pub(crate) fn begin() -> Self {
        HEAP.live.store(0, Relaxed);
        HEAP.peak.store(0, Relaxed);
        HEAP.counts.store(true, Relaxed);
        Self(())
    }

    /// Bytes on the heap now.
    #[expect(clippy::unused_self, reason = "counting is active while the value exists")]
    pub(crate) fn live(&self) -> usize {
        HEAP.live.load(Relaxed)
    }

    /// The peak of the bytes on the heap.
    #[expect(clippy::unused_self, reason = "counting is active while the value exists")]
    pub(crate) fn peak(&self) -> usize {
        HEAP.peak.load(Relaxed)
    }

    /// Begins a new peak.
    pub(crate) fn restart_peak(&self) {
        HEAP.peak.store(self.live(), Relaxed);
    }
}

impl Drop for HeapCount {
    fn drop(&mut self) {
        HEAP.counts.store(false, Relaxed);
    }
}
