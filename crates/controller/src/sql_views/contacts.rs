//! Which of the times at which workers were heard are worth a write.

use std::collections::{BTreeSet, HashMap};

use windlass_core::engine::{Engine, WorkerContacts};
use windlass_core::id::WorkerId;
use windlass_core::time::{Span, Time};
use windlass_store::sql_views::SqlViewsDiff;

/// When workers were heard, as far as the tables tell it.
#[derive(Debug, Default)]
pub(super) struct ContactTimes {
    contacts: WorkerContacts,
    told: HashMap<WorkerId, WrittenContact>,
}

/// What the tables say of a worker, and what was known at the last look.
#[derive(Clone, Copy, Debug)]
struct WrittenContact {
    written: Option<Time>,
    seen: Time,
}

impl ContactTimes {
    /// Takes in when the leader heard its workers.
    pub(super) fn set_contacts(&mut self, contacts: WorkerContacts) {
        self.contacts = contacts;
    }

    pub(super) const fn contacts(&self) -> &WorkerContacts {
        &self.contacts
    }

    /// Puts into the difference who was heard, as far as it is worth it, and when the leases of these end. What it puts
    /// there it takes for written.
    pub(super) fn look(&mut self, engine: &Engine, diff: &mut SqlViewsDiff) {
        let Some(leader) = engine.leader() else { return };
        let due = self.due(Span::millis(leader.ttl.as_millis() / 3));
        if due.is_empty() {
            return;
        }
        for report in engine.leases().filter(|report| due.contains(&report.worker)) {
            let expires = engine.expires(&report, &self.contacts);
            diff.contacts.expires.extend(expires.map(|at| (report.fence, at)));
        }
        let heard = due.into_iter().filter_map(|id| Some((id, self.contacts.last_contact(id)?)));
        diff.contacts.heard.extend(heard);
    }

    /// A worker that has fallen silent is told exactly; of one that is heard all the time it is enough to know that.
    fn due(&mut self, lag_max: Span) -> BTreeSet<WorkerId> {
        let Self { contacts, told } = self;
        told.retain(|worker, _| contacts.last_contact(*worker).is_some());
        let mut due = BTreeSet::new();
        for (worker, now) in &contacts.heard {
            let it = told.entry(*worker).or_insert(WrittenContact { written: None, seen: *now });
            let is_quiet = it.seen == *now;
            it.seen = *now;
            let is_new = it.written.is_none_or(|written| written < *now);
            let is_late = it.written.is_none_or(|written| now.since(written) >= lag_max);
            if is_new && (is_quiet || is_late) {
                it.written = Some(*now);
                due.insert(*worker);
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THIRD: Span = Span::secs(5);

    fn due(heard: &mut ContactTimes, second: u64) -> bool {
        let at = Time::from_millis(1_000_000 + second * 1_000);
        heard.set_contacts(WorkerContacts { silent: Vec::new(), heard: vec![(WorkerId(7), at)] });
        !heard.due(THIRD).is_empty()
    }

    #[test]
    fn a_busy_worker_is_written_now_and_then_and_a_quiet_one_exactly() {
        let mut heard = ContactTimes::default();
        let looks = [0, 1, 2, 3, 4, 5, 6, 6, 6, 7, 7, 20];
        let written = looks.map(|second| due(&mut heard, second));
        let promised = [1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1].map(|it| it == 1);
        assert_eq!(written, promised);
    }
}
