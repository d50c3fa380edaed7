//! Rules for events at workers and clients, in true time.

use windlass_core::id::{Fence, RunId};
use windlass_core::outcome::OutcomeKind;
use windlass_core::session::{LeaseRef, OutcomeVerdict};

use super::state::{BrokenRule, SimWitness, WitnessLease, require};

impl SimWitness {
    /// Records the start of a process.
    pub(crate) fn started(&mut self, worker: usize, at: LeaseRef) -> Result<(), BrokenRule> {
        let fence = at.fence;
        let Some(lease) = self.leases.get(&fence) else {
            return require(false, "I9 durability", || {
                format!("{fence} runs and was never committed")
            });
        };
        require(lease.worker == self.identities[worker], "I7 placement", || {
            format!("{fence} runs on {worker}")
        })?;
        require(self.started.insert(fence), "I4 one lease", || {
            format!("{fence} was started twice")
        })?;
        let lease = &self.leases[&fence];
        require(!lease.was_released(), "I4 one lease", || {
            format!("{fence} starts after it was returned")
        })?;
        let strict = self.spec(at.run, at.step).stops_on_lost_contact();
        let passed_on = lease.end.is_some() && !self.disputed.contains(&fence);
        require(!strict || !passed_on, "I12 self-fence", || {
            format!("{fence} starts after its lease has ended")
        })?;
        let book = &self.runs[&at.run];
        let ready = book.needs_met(at.step);
        require(ready || !self.live.contains(&fence), "I5 dependency", || {
            format!("{fence} starts before its needs ended")
        })?;
        self.alive.insert(fence, worker);
        self.within_slots(worker, fence)?;
        self.alone_at_key(fence)?;
        self.no_overlap(fence)
    }

    fn within_slots(&self, worker: usize, fence: Fence) -> Result<(), BrokenRule> {
        // A former incarnation on another host has slots of its own.
        let incarnation = self.leases[&fence].incarnation;
        let of_incarnation =
            |other: &Fence| self.leases.get(other).is_some_and(|it| it.incarnation == incarnation);
        let here = self.alive.iter().filter(|(_, other)| **other == worker);
        let running = here.filter(|(other, _)| of_incarnation(other)).count();
        let slots = self.workers[&self.identities[worker]].slots as usize;
        require(running <= slots, "I7 placement", || {
            format!("{fence} makes {running} processes in {slots} slots")
        })
    }

    /// Checks that a lock is held by at most as many processes as it has slots, and that a step with a lock never runs
    /// beside itself. A process on a frozen node does nothing, and is ended when the node wakes.
    fn no_overlap(&self, fence: Fence) -> Result<(), BrokenRule> {
        let (run, step) = (self.leases[&fence].run, self.leases[&fence].step);
        let awake = |other: &&Fence| !self.frozen.contains(&self.alive[*other]);
        let spec = self.spec(run, step);
        for lock in &spec.locks {
            let holders = self
                .alive
                .keys()
                .filter(awake)
                .filter(|other| self.holds(**other, &lock.name))
                .count();
            let most =
                self.runs.values().map(|run| run.plan.lock_slots(&lock.name)).max().unwrap_or(1)
                    as usize;
            require(holders <= most, "I13 no overlap", || {
                format!(
                    "{fence} makes {holders} processes that hold {}, which has {most} slots",
                    lock.name
                )
            })?;
        }
        let same = |other: &&Fence| {
            let lease = &self.leases[*other];
            **other != fence && (lease.run, lease.step) == (run, step)
        };
        let beside = self.alive.keys().filter(awake).find(same);
        require(!spec.stops_on_lost_contact() || beside.is_none(), "I13 no overlap", || {
            format!("{fence} runs beside {beside:?}")
        })
    }

    pub(crate) fn gone(&mut self, fence: Fence) {
        self.alive.remove(&fence);
    }

    /// Freezes a whole node, or resumes it.
    pub(crate) fn freeze(&mut self, worker: usize, frozen: bool) {
        if frozen {
            self.frozen.insert(worker);
        } else {
            self.frozen.remove(&worker);
        }
    }

    /// Records a report of a worker of how a lease's process ended.
    pub(crate) fn reported(&mut self, fence: Fence, kind: OutcomeKind) {
        self.reports.entry(fence).or_default().insert(kind);
    }

    /// Records that a grant reached its worker. False if it had before.
    pub(crate) fn delivered(&mut self, fence: Fence) -> bool {
        self.deliveries.insert(fence)
    }

    /// Checks a verdict that reached a worker: it must agree with the journal.
    pub(crate) fn verdict(&self, fence: Fence, verdict: OutcomeVerdict) -> Result<(), BrokenRule> {
        if self.disputed.contains(&fence) {
            return Ok(());
        }
        let accepted = self.leases.get(&fence).is_some_and(WitnessLease::is_accepted);
        match verdict {
            OutcomeVerdict::Accepted => require(accepted, "I9 durability", || {
                format!("{fence} was reported as accepted and is not")
            }),
            // The engine knows nothing of a sealed run.
            OutcomeVerdict::Stale => {
                require(!accepted || self.is_of_sealed(fence), "I21 same answer", || {
                    format!("{fence} was accepted and then called stale")
                })
            }
        }
    }

    fn is_of_sealed(&self, fence: Fence) -> bool {
        self.leases.get(&fence).is_some_and(|lease| self.ever_sealed.contains(&lease.run))
    }

    pub(crate) fn submit_acked(&self, run: RunId) -> Result<(), BrokenRule> {
        require(self.runs.contains_key(&run), "I9 durability", || {
            format!("run {run} was accepted and is not in the journal")
        })
    }

    pub(crate) fn cancel_acked(&self, run: RunId) -> Result<(), BrokenRule> {
        let book = self.runs.get(&run);
        let done = book.is_some_and(|book| book.cancel.is_some() || book.status.is_terminal());
        require(done, "I9 durability", || format!("run {run} was reported as cancelled and is not"))
    }
}
