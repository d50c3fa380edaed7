//! Selects the contact times of workers that are worth a write.

use std::collections::{BTreeSet, HashMap};

use windlass_core::engine::{Engine, WorkerContacts};
use windlass_core::id::WorkerId;
use windlass_core::time::{Span, Time};
use windlass_store::sql_views::SqlViewsDiff;

/// The contact times of workers, as the tables have them.
#[derive(Debug, Default)]
pub(super) struct ContactTimes {
    contacts: WorkerContacts,
    last_written: HashMap<WorkerId, WrittenContact>,
}

/// The contact of a worker in the tables, and at the last scan.
#[derive(Clone, Copy, Debug)]
struct WrittenContact {
    written: Option<Time>,
    seen: Time,
}

impl ContactTimes {
    /// Takes the contact times that the leader knows.
    pub(super) fn set_contacts(&mut self, contacts: WorkerContacts) {
        self.contacts = contacts;
    }

    pub(super) const fn contacts(&self) -> &WorkerContacts {
        &self.contacts
    }

    /// Adds the contact times that are worth a write to the difference, and the expiry of the leases that follow from
    /// them. It takes them for written.
    pub(super) fn scan(&mut self, engine: &Engine, diff: &mut SqlViewsDiff) {
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

    /// The time of a silent worker is written exactly. For a worker in contact an approximate time is enough.
    fn due(&mut self, lag_max: Span) -> BTreeSet<WorkerId> {
        let Self { contacts, last_written } = self;
        last_written.retain(|worker, _| contacts.last_contact(*worker).is_some());
        let mut due = BTreeSet::new();
        for (worker, now) in &contacts.heard {
            let it =
                last_written.entry(*worker).or_insert(WrittenContact { written: None, seen: *now });
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
    fn contact_of_a_busy_worker_is_approximate_and_of_a_silent_one_exact() {
        let mut heard = ContactTimes::default();
        let looks = [0, 1, 2, 3, 4, 5, 6, 6, 6, 7, 7, 20];
        let written = looks.map(|second| due(&mut heard, second));
        let promised = [1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1].map(|it| it == 1);
        assert_eq!(written, promised);
    }
}
