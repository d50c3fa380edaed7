//! An allocator that counts: exact bytes that live on the heap, without asking the system.
//!
//! It counts what was asked for, not what the allocator adds to it. The counters are plain loads and stores, so that
//! counting costs the timed rows next to nothing; they are exact while the benchmark has one thread, so memory is
//! measured before a journal brings others.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

#[global_allocator]
static HEAP: Counting = Counting { live: AtomicUsize::new(0), peak: AtomicUsize::new(0) };

/// The system's allocator, with counters.
struct Counting {
    live: AtomicUsize,
    peak: AtomicUsize,
}

impl Counting {
    fn count(&self, freed: usize, taken: usize) {
        let live = self.live.load(Relaxed).wrapping_sub(freed).wrapping_add(taken);
        self.live.store(live, Relaxed);
        if live > self.peak.load(Relaxed) {
            self.peak.store(live, Relaxed);
        }
    }
}

#[expect(
    unsafe_code,
    reason = "the trait of allocators is unsafe; every call goes to the system's allocator unchanged"
)]
// SAFETY: each method hands its arguments to `System`, which upholds the contract, and only counts beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count(0, layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.count(0, layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        self.count(layout.size(), 0);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.count(layout.size(), size);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Bytes on the heap now.
pub(crate) fn live() -> usize {
    HEAP.live.load(Relaxed)
}

/// The most bytes that were on the heap at once since [`restart_peak`].
pub(crate) fn peak() -> usize {
    HEAP.peak.load(Relaxed)
}

/// Begins to look for the peak anew.
pub(crate) fn restart_peak() {
    HEAP.peak.store(live(), Relaxed);
}
