//! Leadership does not depend on the clock of the database.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use windlass::core::time::Span;
use windlass_store::conformance::block_on;
use windlass_store::journal::{
    CampaignOutcome, Journal as _, JournalLeadership, LeaderCandidate, PostgresJournal,
    PostgresJournalOptions,
};

use crate::support::postgres_server::shared;
use crate::support::waiting::pause;

/// How long terms last here.
const TERM: Duration = Duration::from_secs(2);

struct TermSchema {
    address: String,
    leader: String,
}

impl TermSchema {
    fn new() -> Self {
        let (address, schema) = shared().fresh();
        Self { address, leader: format!("{schema}.windlass_leader") }
    }

    fn open(&self) -> Arc<PostgresJournal> {
        let term = Span::millis(u64::try_from(TERM.as_millis()).expect("it is short"));
        let options = PostgresJournalOptions { term, ..PostgresJournalOptions::default() };
        Arc::new(block_on(PostgresJournal::open(&self.address, options)).expect("it opens"))
    }

    /// Changes the row as if the clock of the database had been set forward by this much, or back if it is negative.
    fn clock_is_set(&self, by: &str) {
        let leader = &self.leader;
        let shift = format!(
            "ALTER TABLE {leader} DISABLE TRIGGER USER; UPDATE {leader} SET until = until - interval '{by}'; ALTER TABLE {leader} ENABLE TRIGGER USER"
        );
        shared().psql(&shift);
    }
}

fn campaign(journal: &PostgresJournal, node: &str) -> Option<JournalLeadership> {
    let candidate = LeaderCandidate { node: node.to_owned(), address: None };
    match block_on(journal.campaign(candidate)).expect("the store answers") {
        CampaignOutcome::Won(won) => Some(won),
        CampaignOutcome::LedBy { .. } => None,
    }
}

/// Campaigns until it wins, and returns how long that took.
fn win(journal: &PostgresJournal, node: &str) -> (JournalLeadership, Duration) {
    let began = Instant::now();
    loop {
        if let Some(won) = campaign(journal, node) {
            return (won, began.elapsed());
        }
        assert!(began.elapsed() < 20 * TERM, "nobody renews the term");
        pause(Duration::from_millis(50));
    }
}

#[test]
fn clock_set_forward_gives_no_second_leader() {
    let schema = TermSchema::new();
    let (journal, rival) = (schema.open(), schema.open());
    let led = campaign(&journal, "ann").expect("nobody else leads");
    let began = Instant::now();
    while began.elapsed() < 2 * TERM {
        schema.clock_is_set("1 day");
        assert_eq!(campaign(&rival, "bob"), None, "the term is renewed");
        pause(TERM / 8);
        block_on(journal.renew(led.term)).expect("nobody has taken it");
    }
    schema.clock_is_set("1 day");
    let (won, waited) = win(&rival, "bob");
    assert!(won.term > led.term && waited >= TERM * 7 / 8, "after {waited:?}");
}

#[test]
fn clock_set_back_does_not_delay_the_next_leader() {
    let schema = TermSchema::new();
    let (journal, rival) = (schema.open(), schema.open());
    let led = campaign(&journal, "ann").expect("nobody else leads");
    schema.clock_is_set("-1 day");
    assert_eq!(campaign(&rival, "bob"), None);
    let (won, waited) = win(&rival, "bob");
    assert!(won.term > led.term && waited >= TERM * 7 / 8, "after {waited:?}");
    let renewed = block_on(journal.renew(led.term));
    assert!(renewed.is_err(), "{renewed:?}");
}

#[test]
fn a_candidate_that_campaigns_once_waits_for_a_leader_that_has_gone() {
    let schema = TermSchema::new();
    let led = campaign(&schema.open(), "ann").expect("nobody else leads");
    schema.clock_is_set("1 day");
    let candidate = LeaderCandidate { node: "bob".to_owned(), address: None };
    let came = block_on(schema.open().campaign_patiently(candidate)).expect("the store answers");
    assert!(matches!(came, CampaignOutcome::Won(won) if won.term > led.term), "{came:?}");
}

/// A standby proves how long the last leader continued; a process that has just started proves nothing.
#[test]
fn candidate_reports_the_observed_duration_of_the_last_term() {
    let schema = TermSchema::new();
    let (journal, rival) = (schema.open(), schema.open());
    let led = campaign(&journal, "ann").expect("nobody else leads");
    for _ in 0..3 {
        assert_eq!(campaign(&rival, "bob"), None);
        block_on(journal.renew(led.term)).expect("nobody has taken it");
    }
    let (won, waited) = win(&rival, "bob");
    let (term, ago) = won.since_led.expect("it was seen to be renewed");
    assert_eq!(term, led.term);
    assert!(u128::from(ago.as_millis()) + 1 >= waited.as_millis(), "{ago} of {waited:?}");
    block_on(rival.resign(won.term)).expect("it is its own");
    let fresh = campaign(&schema.open(), "cleo").expect("it was given back");
    assert_eq!(fresh.since_led, None);
}
