//! Letters get lost, come twice, late and in another order: everything ends well all the same.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use windlass::conformance::{Stormy, Weather};
use windlass::core::outcome::RunStatus;
use windlass::core::plan::{PlanBuilder, Retry, StepSpec};
use windlass::link::post::{Epoch, Letter, Mailbox, Mailboxes, Mailed, MemoryMailboxes, Standing};

use super::super::crew::{folded, journal, run};
use super::crew::{Leader, Mate, Witness};

const STEPS: usize = 60;

async fn storm(weather: Weather, seed: u64) {
    let (journal, witness) = (journal(), Arc::new(Witness::default()));
    let calm: Arc<dyn Mailboxes> = Arc::new(MemoryMailboxes::new());
    let place: Arc<dyn Mailboxes> = Arc::new(Stormy::new(calm, weather, seed));
    let leader = Leader::start(&journal, &place).await.expect("nobody leads");
    let _mates = [(); 3].map(|()| Mate::join(&place, &witness));
    let mut plan = PlanBuilder::new("storm");
    for step in 0..STEPS {
        let retry = Retry { lost: 100, ..Retry::default() };
        plan.step(&format!("step-{step}"), StepSpec { retry, ..StepSpec::default() });
    }
    leader.node.submit(run(1), &Arc::new(plan.build().expect("a valid plan"))).await;
    let ended = tokio::time::timeout(Duration::from_mins(10), leader.ended(run(1))).await;
    assert_eq!(ended, Ok(RunStatus::Succeeded), "{weather:?} {seed}: {}", leader.node.details());
    assert_eq!(witness.starts().len(), STEPS);
    assert_eq!(folded(&*journal).await, leader.node.details());
}

#[tokio::test(start_paused = true)]
async fn whatever_befalls_letters_every_step_ends_well() {
    let longest = Duration::from_secs(3);
    let lossy = Weather { lost: 20, ..Weather::default() };
    let double = Weather { doubled: 50, ..Weather::default() };
    let late = Weather { delayed: 50, longest, ..Weather::default() };
    let everything = Weather { lost: 15, doubled: 15, delayed: 30, longest };
    for seed in 0..8 {
        for weather in [lossy, double, late, everything] {
            storm(weather, seed).await;
        }
    }
}

/// Mailboxes that can lose everything, as a server does that restarts without its data.
#[derive(Clone, Debug, Default)]
pub(super) struct Forgetful(Arc<Mutex<MemoryMailboxes>>);

impl Forgetful {
    /// Nothing of what it held is left.
    pub(super) fn forget(&self) {
        *self.0.lock().expect("nobody panics") = MemoryMailboxes::new();
    }

    fn now(&self) -> MemoryMailboxes {
        self.0.lock().expect("nobody panics").clone()
    }
}

impl Mailboxes for Forgetful {
    fn place(&self) -> String {
        "a forgetful place".to_owned()
    }

    fn bind(&self, by: String, term: Duration) -> Mailed<'_, Epoch> {
        Box::pin(async move { self.now().bind(by, term).await })
    }

    fn keep(&self, epoch: Epoch, term: Duration) -> Mailed<'_, ()> {
        Box::pin(async move { self.now().keep(epoch, term).await })
    }

    fn unbind(&self, epoch: Epoch, epitaph: Option<String>) -> Mailed<'_, ()> {
        Box::pin(async move { self.now().unbind(epoch, epitaph).await })
    }

    fn look(&self) -> Mailed<'_, Standing> {
        Box::pin(async move { self.now().look().await })
    }

    fn send(&self, letters: Vec<Letter>) -> Mailed<'_, ()> {
        Box::pin(async move { self.now().send(letters).await })
    }

    fn receive(&self, mailbox: Mailbox, within: Duration) -> Mailed<'_, Vec<Vec<u8>>> {
        Box::pin(async move { self.now().receive(mailbox, within).await })
    }
}
