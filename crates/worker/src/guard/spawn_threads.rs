//! Threads that start the steps in line, each the next when its own has ended.
//!
//! To start a process is to wait until it has taken its parent's memory off: on a busy machine that is until a core is free
//! again, long after the step that runs on the other one has ended. A single thread would not see that end, and a core would
//! lie idle. And who waits for one child is woken by the child's own core as that falls free, which a descriptor does not do.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use super::guard_process::{GuardProcess, LOCK_NOT_POISONED};
use super::guard_state::StepStart;
use crate::platform::ThreadChildren;

/// As many as can start something at the same time on most machines. Who finds no hand free is started without.
const SPAWN_THREADS_MAX: usize = 8;

/// The hands of a guard. They come when they are needed, and stay.
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
    /// None yet, and none ever where nobody could tell what they start from orphans.
    pub(super) fn new(wanted: bool) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let max = if wanted { cores.min(SPAWN_THREADS_MAX) } else { 0 };
        Self { max, state: Mutex::default(), wakes: Condvar::new() }
    }

    /// Gives a free hand something to start. It comes back if there is none.
    pub(super) fn offer(&self, start: StepStart, process: &Arc<GuardProcess>) -> Option<StepStart> {
        let mut crew = self.lock();
        crew.queue.push_back(start);
        if crew.waiting >= crew.queue.len() {
            self.wakes.notify_one();
            return None;
        }
        if crew.number < self.max && begin(process) {
            crew.number += 1;
            return None;
        }
        crew.queue.pop_back()
    }

    /// Gives something to start to the only hand, which may still be seeing to the end of what it started before. It comes
    /// back if the system has no room for a thread.
    pub(super) fn offer_to_single_thread(
        &self,
        start: StepStart,
        process: &Arc<GuardProcess>,
    ) -> Option<StepStart> {
        let mut crew = self.lock();
        if crew.number == 0 {
            if !begin(process) {
                return Some(start);
            }
            crew.number = 1;
        }
        crew.queue.push_back(start);
        self.wakes.notify_one();
        None
    }

    /// Sends all of them away. What was given and not taken comes back.
    pub(super) fn shut_down(&self) -> VecDeque<StepStart> {
        let mut crew = self.lock();
        crew.dismissed = true;
        self.wakes.notify_all();
        std::mem::take(&mut crew.queue)
    }

    /// What a hand is to start next; nothing if it is to go.
    fn next_start(&self) -> Option<StepStart> {
        let mut crew = self.lock();
        crew.waiting += 1;
        let idle = |crew: &mut SpawnThreadsState| crew.queue.is_empty() && !crew.dismissed;
        let mut crew = self.wakes.wait_while(crew, idle).expect(LOCK_NOT_POISONED);
        crew.waiting -= 1;
        crew.queue.pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, SpawnThreadsState> {
        self.state.lock().expect(LOCK_NOT_POISONED)
    }
}

/// Has a new hand begin. False if the system has no room for a thread.
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
