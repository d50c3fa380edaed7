//! Coverage marks: the cases that a campaign must meet to prove anything.

use std::collections::BTreeMap;

/// Every mark that a campaign of ordinary size must hit. A simulator that never meets a case proves nothing about it.
pub(crate) const EXPECTED: [&str; 91] = [
    "append outcome unknown, resolved by repeating",
    "append refused: the term had passed",
    "attempt tried again",
    "blocked by a failed need",
    "brake on mass loss",
    "cancelled: killed",
    "cancelled: stopped",
    "crashed after append",
    "crashed after decide",
    "crashed before reply",
    "deliveries exhausted",
    "delivery charged",
    "delivery free of charge",
    "done once, taken over",
    "drained",
    "effect of maintenance without an answer",
    "fail-fast ended the rest",
    "failed at the lock of an ancestor",
    "grant sent again",
    "guard closed its start queue with its worker",
    "guard died: the tether ended its step",
    "guard hung: the tether ended its step",
    "guard reported the end of an incarnation",
    "host refused for another with its identity",
    "hung start ended with its tether",
    "interrupted run resumed to be cancelled",
    "interrupted run resumed unsealed",
    "journal pruned",
    "late outcome counted",
    "late outcome kept",
    "leader found the lock of a guard free",
    "leader froze and woke deposed",
    "leader handed its term over",
    "leader left requests for its next turn",
    "lease asked back and released",
    "lease confirmed by a new leader",
    "lease expired",
    "lock released by force",
    "lock-holding process ended for lost contact",
    "maintenance began anew between two effects",
    "newer run superseded an older one",
    "no worker to run it in time",
    "orders carried to a worker",
    "overdue step ordered to stop",
    "pinned step ran with the leader",
    "plain worker registered again while its steps ran",
    "plain worker said goodbye",
    "plain worker said goodbye with steps that ran",
    "plain worker started a step",
    "plain worker's claim answered again",
    "plain worker's claim went on to another step",
    "plain worker's leases found by a new leader",
    "plain worker's report accepted",
    "plain worker's report contradicted the one before",
    "plain worker's report stale",
    "plain worker's step ended by `lease_expires_at`",
    "preferred worker got the step",
    "process of a former incarnation ran beside the next one",
    "queued step could not start",
    "queued step started while its worker was frozen",
    "queued step withdrawn",
    "repeated report answered again",
    "restarted worker took over",
    "reused outcome",
    "run condemned",
    "run interrupted",
    "run resumed",
    "sealed run archived again",
    "sealed run resumed",
    "skipped by condition",
    "skipped by values",
    "skipped: no worker could run it",
    "spooled outcome accepted",
    "start from a snapshot",
    "start held up by its guard until it was too late",
    "start queue paused after a stop",
    "step went to a worker that it did not prefer",
    "step with two locks granted",
    "store rolled back",
    "takeover with open leases",
    "term handed over and its holder does not know",
    "term renewed and its holder does not know",
    "term won and its winner does not know",
    "tick waited for the workers of a leader that was held up",
    "waited for a key",
    "withheld: a need could not run",
    "worker drained itself",
    "worker ended because its guard had died",
    "worker learned that it is stale",
    "worker returned",
    "worker revoked",
];

/// How often each mark was hit.
#[derive(Clone, Debug, Default)]
pub struct CoverageMarks(BTreeMap<&'static str, u64>);

impl CoverageMarks {
    pub(crate) fn hit(&mut self, mark: &'static str) {
        debug_assert!(EXPECTED.contains(&mark), "`{mark}` is not on the list");
        *self.0.entry(mark).or_insert(0) += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (mark, count) in &other.0 {
            *self.0.entry(mark).or_insert(0) += count;
        }
    }

    /// Returns every mark with how often it was hit.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, u64)> {
        EXPECTED.iter().map(|mark| (*mark, self.0.get(mark).copied().unwrap_or(0)))
    }

    /// Returns the marks that were never hit.
    pub fn missing(&self) -> Vec<&'static str> {
        self.all().filter(|(_, count)| *count == 0).map(|(mark, _)| mark).collect()
    }
}
