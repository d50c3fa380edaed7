//! Threads that start queued steps. Each starts a step, waits for its end and starts the next one.
//!
//! A thread that starts a process waits until the child has left its parent's memory. On a busy machine this lasts
//! until a core is free, long after the step on the other core has ended. A single thread would not notice that end,
//! and a core would be idle. A thread that waits for one child also wakes on the child's own core when that becomes
//! free, unlike a wait on a descriptor.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use super::guard_process::{GuardProcess, LOCK_NOT_POISONED};
use super::guard_state::StepStart;
use crate::platform::ThreadChildren;

/// The maximum number of threads. Most machines cannot start more processes at the same time. Without a free thread the
/// watch starts the step itself.
const SPAWN_THREADS_MAX: usize = 8;

/// The spawn threads of a guard. They begin when they are needed, and stay.
#[derive(Debug)]
pub(super) struct SpawnThreads {
    max: usize,
    state: Mutex<SpawnThreadsState>,
    wakes: Condvar,
}

#[derive(Debug, Default)]
struct SpawnThreadsState {
    number: usize,
    waiting: usize,
    queue: VecDeque<StepStart>,
    dismissed: bool,
}

impl SpawnThreads {
    /// Creates a pool without threads. It stays empty where the steps that threads start cannot be distinguished from
    /// orphans.
    pub(super) fn new(wanted: bool) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let max = if wanted { cores.min(SPAWN_THREADS_MAX) } else { 0 };
        Self { max, state: Mutex::default(), wakes: Condvar::new() }
    }

    /// Gives a step to a free thread. Returns the step if there is none.
    pub(super) fn offer(&self, start: StepStart, process: &Arc<GuardProcess>) -> Option<StepStart> {
        let mut state = self.lock();
        state.queue.push_back(start);
        if state.waiting >= state.queue.len() {
            self.wakes.notify_one();
            return None;
        }
        if state.number < self.max && begin(process) {
            state.number += 1;
            return None;
        }
        state.queue.pop_back()
    }

    /// Gives a step to the only thread, which may still handle the end of the step before. Returns the step if the
    /// system cannot start a thread.
    pub(super) fn offer_to_single_thread(
        &self,
        start: StepStart,
        process: &Arc<GuardProcess>,
    ) -> Option<StepStart> {
        let mut state = self.lock();
        if state.number == 0 {
            if !begin(process) {
                return Some(start);
            }
            state.number = 1;
        }
        state.queue.push_back(start);
        self.wakes.notify_one();
        None
    }

    /// Ends all threads. Returns the steps that no thread has taken.
    pub(super) fn shut_down(&self) -> VecDeque<StepStart> {
        let mut state = self.lock();
        state.dismissed = true;
        self.wakes.notify_all();
        std::mem::take(&mut state.queue)
    }

    /// Waits for the next step to start. `None` if the thread is to end.
    fn next_start(&self) -> Option<StepStart> {
        let mut state = self.lock();
        state.waiting += 1;
        let idle = |state: &mut SpawnThreadsState| state.queue.is_empty() && !state.dismissed;
        let mut state = self.wakes.wait_while(state, idle).expect(LOCK_NOT_POISONED);
        state.waiting -= 1;
        state.queue.pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, SpawnThreadsState> {
        self.state.lock().expect(LOCK_NOT_POISONED)
    }
}

/// Starts another thread. False if the system cannot.
fn begin(process: &Arc<GuardProcess>) -> bool {
    let process = Arc::clone(process);
    thread::Builder::new().spawn(move || work(&process)).is_ok()
}

fn work(process: &GuardProcess) {
    let mut own = ThreadChildren::of_this_thread();
    while let Some(first) = process.spawn_threads().next_start() {
        let mut next = Some(first);
        while let Some(start) = next {
            next = process.run_queued(start, &mut own).unwrap_or_else(|error| {
                process.fail(error);
                None
            });
        }
    }
}
