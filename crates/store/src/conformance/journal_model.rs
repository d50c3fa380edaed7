//! Random operations: a backend must answer like the journal in memory, which serves as the model.

use std::sync::Arc;

use windlass_core::id::Term;
use windlass_core::time::Time;

use super::harness::{FreshStorage, JournalHandle, StorageHarness};
use super::journal_fixtures::{block_on, campaign, filler};
use super::report::{CheckDifference, CheckResult, expect_same};
use crate::db::StoreError;
use crate::journal::{
    BatchId, CampaignOutcome, EventBatch, LeaderCandidate, MemoryJournal, Position,
};

const SEQUENCES: u64 = 200;
/// The number of sequences for a backend whose storage takes a tenth of a second to create.
const SEQUENCES_COSTLY: u64 = 20;
const OPERATIONS: usize = 20;
const NODES: [&str; 2] = ["alpha", "beta"];

/// The operations of two nodes, in any order, valid or not, get the same answers as from the journal in memory.
pub(super) fn random_operations_answer_alike(fresh: &FreshStorage<'_>) -> CheckResult {
    let sequences = if fresh().is_costly() { SEQUENCES_COSTLY } else { SEQUENCES };
    for seed in 0..sequences {
        let harness = fresh();
        let mut pair = JournalComparison::new(&*harness);
        let mut dice = ModelRng(seed);
        let mut done = Vec::new();
        for _ in 0..OPERATIONS {
            let operation = pair.draw(&mut dice);
            done.push(format!("{operation:?}"));
            let alike = pair.compare(&operation);
            alike.map_err(|difference| {
                CheckDifference(format!("seed {seed}: {difference}, after {}", done.join("; ")))
            })?;
        }
    }
    Ok(())
}

/// An operation of a node. A term is identified by the order in which it was won: the numbers may differ.
#[derive(Debug)]
enum JournalOperation {
    Campaign { node: usize },
    Renew { term: usize },
    Resign { term: usize },
    Append { term: usize, after: Position, batch: BatchId },
    Tail { node: usize, after: Position, most: usize },
    Head { node: usize },
    Restart,
}

/// An answer without the parts that may differ: clocks, processes and term numbers.
#[derive(Debug, PartialEq)]
enum JournalAnswer {
    Won { head: Position },
    LedBy(LeaderCandidate),
    Done,
    At(Position),
    Batches(Vec<(EventBatch, Option<usize>)>),
    Stale { current: Option<usize> },
    Refused(StoreError),
}

/// The journal in memory and the journal under test, side by side.
struct JournalComparison<'a> {
    harness: &'a dyn StorageHarness,
    model: ComparedJournal,
    tested: ComparedJournal,
    /// The node that won each term.
    winners: Vec<usize>,
    /// The head of the model.
    head: Position,
}

/// One of the two journals, with the handle of each node and the terms that it won.
struct ComparedJournal {
    handles: Vec<JournalHandle>,
    terms: Vec<Term>,
}

impl<'a> JournalComparison<'a> {
    fn new(harness: &'a dyn StorageHarness) -> Self {
        let model: JournalHandle = Arc::new(MemoryJournal::new(|| Time::ZERO));
        let model = ComparedJournal { handles: vec![Arc::clone(&model), model], terms: Vec::new() };
        let tested =
            ComparedJournal { handles: vec![harness.open(), harness.open()], terms: Vec::new() };
        Self { harness, model, tested, winners: Vec::new(), head: Position(0) }
    }

    /// Draws a random operation. Most operations are valid, because otherwise nothing would be written.
    fn draw(&self, dice: &mut ModelRng) -> JournalOperation {
        let node = dice.below(2);
        let terms = self.winners.len();
        let recent = |dice: &mut ModelRng| {
            terms - 1 - if dice.below(4) == 0 { dice.below(terms) } else { 0 }
        };
        let near =
            |dice: &mut ModelRng| Position((self.head.0 + dice.below(4) as u64).saturating_sub(2));
        match dice.below(16) {
            _ if terms == 0 => JournalOperation::Campaign { node },
            0 | 1 => JournalOperation::Campaign { node },
            2 => JournalOperation::Renew { term: recent(dice) },
            3 => JournalOperation::Resign { term: recent(dice) },
            4 | 5 => JournalOperation::Tail { node, after: near(dice), most: dice.below(6) },
            6 => JournalOperation::Head { node },
            7 if self.harness.outlives_its_handles() => JournalOperation::Restart,
            _ => {
                let after = if dice.below(3) == 0 { near(dice) } else { self.head };
                let batch = BatchId(dice.below(6) as u64);
                JournalOperation::Append { term: recent(dice), after, batch }
            }
        }
    }

    fn compare(&mut self, operation: &JournalOperation) -> CheckResult {
        if matches!(operation, JournalOperation::Restart) {
            return self.restart();
        }
        let promised = self.model.perform(operation, &self.winners);
        let found = self.tested.perform(operation, &self.winners);
        if let (JournalOperation::Campaign { node }, JournalAnswer::Won { .. }) =
            (operation, &promised)
        {
            self.winners.push(*node);
        }
        expect_same("the answer", &found, &promised)?;
        self.head = block_on(self.model.handles[0].head())?;
        Ok(())
    }

    /// Restarts both nodes. The model survives this, so its leader resigns.
    fn restart(&mut self) -> CheckResult {
        if let Some(term) = self.model.terms.last() {
            block_on(self.model.handles[0].resign(*term))?;
        }
        self.tested.handles.clear();
        self.harness.let_terms_end();
        self.tested.handles = vec![self.harness.open(), self.harness.open()];
        Ok(())
    }
}

impl ComparedJournal {
    fn perform(&mut self, operation: &JournalOperation, winners: &[usize]) -> JournalAnswer {
        let of_term = |term: usize| (&self.handles[winners[term]], self.terms[term]);
        let said = match *operation {
            JournalOperation::Campaign { node } => return self.campaign(node),
            JournalOperation::Renew { term } => {
                let (journal, term) = of_term(term);
                block_on(journal.renew(term)).map(|()| JournalAnswer::Done)
            }
            JournalOperation::Resign { term } => {
                let (journal, term) = of_term(term);
                block_on(journal.resign(term)).map(|()| JournalAnswer::Done)
            }
            JournalOperation::Append { term, after, batch } => {
                let (journal, term) = of_term(term);
                // A batch with the same name and position is a repeat of the whole batch.
                let events = (0..=batch.0 % 4).map(|event| filler(after.0 + event));
                let batch = Arc::new(EventBatch::new(term, batch, after, events));
                block_on(journal.append(batch)).map(JournalAnswer::At)
            }
            JournalOperation::Tail { node, after, most } => {
                let tail = block_on(self.handles[node].tail(after, most));
                tail.map(|batches| self.batches(batches))
            }
            JournalOperation::Head { node } => {
                block_on(self.handles[node].head()).map(JournalAnswer::At)
            }
            JournalOperation::Restart => Ok(JournalAnswer::Done),
        };
        said.unwrap_or_else(|error| self.refused(error))
    }

    fn campaign(&mut self, node: usize) -> JournalAnswer {
        match campaign(&self.handles[node], NODES[node]) {
            Ok(CampaignOutcome::Won(leadership)) => {
                self.terms.push(leadership.term);
                JournalAnswer::Won { head: leadership.head }
            }
            Ok(CampaignOutcome::LedBy { node, address, .. }) => {
                JournalAnswer::LedBy(LeaderCandidate { node, address })
            }
            Err(error) => self.refused(error),
        }
    }

    fn order_of(&self, term: Term) -> Option<usize> {
        self.terms.iter().position(|known| *known == term)
    }

    fn batches(&self, batches: Vec<Arc<EventBatch>>) -> JournalAnswer {
        let named = batches.into_iter().map(|batch| {
            let order = self.order_of(batch.term);
            (EventBatch { term: Term(0), ..(*batch).clone() }, order)
        });
        JournalAnswer::Batches(named.collect())
    }

    fn refused(&self, error: StoreError) -> JournalAnswer {
        match error {
            StoreError::Stale { current, .. } => {
                JournalAnswer::Stale { current: self.order_of(current) }
            }
            other => JournalAnswer::Refused(other),
        }
    }
}

/// Pseudorandom numbers, the same in every run (the `SplitMix64` sequence).
struct ModelRng(u64);

impl ModelRng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).expect("a small number");
        usize::try_from(self.next() % bound).expect("less than the bound")
    }
}
