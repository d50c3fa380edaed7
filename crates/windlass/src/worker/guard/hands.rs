//! Threads that start the steps in line, each the next when its own has ended.
//!
//! To start a process is to wait until it has taken its parent's memory off: on a busy machine that is until a core is free
//! again, long after the step that runs on the other one has ended. A single thread would not see that end, and a core would
//! lie idle. And who waits for one child is woken by the child's own core as that falls free, which a descriptor does not do.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use super::process::{NO_PANIC, Process};
use super::state::Start;
use crate::worker::platform::Children;

/// As many as can start something at the same time on most machines. Who finds no hand free is started without.
const MAX: usize = 8;

/// The hands of a guard. They come when they are needed, and stay.
#[derive(Debug)]
pub(super) struct Hands {
    max: usize,
    crew: Mutex<Crew>,
    called: Condvar,
}

#[derive(Debug, Default)]
struct Crew {
    number: usize,
    waiting: usize,
    given: VecDeque<Start>,
    dismissed: bool,
}

impl Hands {
    /// None yet, and none ever where nobody could tell what they start from orphans.
    pub(super) fn new(wanted: bool) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let max = if wanted { cores.min(MAX) } else { 0 };
        Self { max, crew: Mutex::default(), called: Condvar::new() }
    }

    /// Gives a free hand something to start. It comes back if there is none.
    pub(super) fn give(&self, start: Start, process: &Arc<Process>) -> Option<Start> {
        let mut crew = self.crew();
        crew.given.push_back(start);
        if crew.waiting >= crew.given.len() {
            self.called.notify_one();
            return None;
        }
        if crew.number < self.max && begin(process) {
            crew.number += 1;
            return None;
        }
        crew.given.pop_back()
    }

    /// Gives something to start to the only hand, which may still be seeing to the end of what it started before. It comes
    /// back if the system has no room for a thread.
    pub(super) fn give_to_one(&self, start: Start, process: &Arc<Process>) -> Option<Start> {
        let mut crew = self.crew();
        if crew.number == 0 {
            if !begin(process) {
                return Some(start);
            }
            crew.number = 1;
        }
        crew.given.push_back(start);
        self.called.notify_one();
        None
    }

    /// Sends all of them away. What was given and not taken comes back.
    pub(super) fn dismiss(&self) -> VecDeque<Start> {
        let mut crew = self.crew();
        crew.dismissed = true;
        self.called.notify_all();
        std::mem::take(&mut crew.given)
    }

    /// What a hand is to start next; nothing if it is to go.
    fn taken(&self) -> Option<Start> {
        let mut crew = self.crew();
        crew.waiting += 1;
        let idle = |crew: &mut Crew| crew.given.is_empty() && !crew.dismissed;
        let mut crew = self.called.wait_while(crew, idle).expect(NO_PANIC);
        crew.waiting -= 1;
        crew.given.pop_front()
    }

    fn crew(&self) -> MutexGuard<'_, Crew> {
        self.crew.lock().expect(NO_PANIC)
    }
}

/// Has a new hand begin. False if the system has no room for a thread.
fn begin(process: &Arc<Process>) -> bool {
    let process = Arc::clone(process);
    thread::Builder::new().spawn(move || work(&process)).is_ok()
}

fn work(process: &Process) {
    let mut own = Children::of_this_thread();
    while let Some(first) = process.hands().taken() {
        let mut next = Some(first);
        while let Some(start) = next {
            next = process.carry(start, &mut own).unwrap_or_else(|error| {
                process.fail(error);
                None
            });
        }
    }
}
