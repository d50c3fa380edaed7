//! Messages are lost, duplicated, delayed and reordered, and every run still ends well.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use windlass::conformance::{FaultyMailboxes, MailboxFaults};
use windlass::core::outcome::RunStatus;
use windlass::core::plan::{PlanBuilder, RetryPolicy, StepSpec};
use windlass_link::mailbox::{
    BindingEpoch, MailboxBinding, MailboxFuture, MailboxId, MailboxMessage, Mailboxes,
    MemoryMailboxes,
};

use super::mailbox_node::{MailboxLeader, MailboxWitness, MailboxWorker};
use crate::controller::test_node::{folded, journal, run};

const STEPS: usize = 60;

async fn storm(weather: MailboxFaults, seed: u64) {
    let (journal, witness) = (journal(), Arc::new(MailboxWitness::default()));
    let calm: Arc<dyn Mailboxes> = Arc::new(MemoryMailboxes::new());
    let mailboxes: Arc<dyn Mailboxes> = Arc::new(FaultyMailboxes::new(calm, weather, seed));
    let leader = MailboxLeader::start(&journal, &mailboxes).await.expect("nobody leads");
    let _mates = [(); 3].map(|()| MailboxWorker::join(&mailboxes, &witness));
    let mut plan = PlanBuilder::new("storm");
    for step in 0..STEPS {
        let retry = RetryPolicy { lost: 100, ..RetryPolicy::default() };
        plan.step(&format!("step-{step}"), StepSpec { retry, ..StepSpec::default() });
    }
    leader.node.submit(run(1), &Arc::new(plan.build().expect("a valid plan"))).await;
    let ended = tokio::time::timeout(Duration::from_mins(10), leader.ended(run(1))).await;
    assert_eq!(ended, Ok(RunStatus::Succeeded), "{weather:?} {seed}: {}", leader.node.details());
    assert_eq!(witness.starts().len(), STEPS);
    assert_eq!(folded(&*journal).await, leader.node.details());
}

#[tokio::test(start_paused = true)]
async fn every_step_succeeds_despite_lost_repeated_and_reordered_messages() {
    let longest = Duration::from_secs(3);
    let lossy = MailboxFaults { lost: 20, ..MailboxFaults::default() };
    let double = MailboxFaults { duplicated: 50, ..MailboxFaults::default() };
    let late = MailboxFaults { delayed: 50, delay_max: longest, ..MailboxFaults::default() };
    let everything = MailboxFaults { lost: 15, duplicated: 15, delayed: 30, delay_max: longest };
    for seed in 0..8 {
        for weather in [lossy, double, late, everything] {
            storm(weather, seed).await;
        }
    }
}

/// Mailboxes that can lose everything, as a server that restarts without its data does.
#[derive(Clone, Debug, Default)]
pub(super) struct ForgetfulMailboxes(Arc<Mutex<MemoryMailboxes>>);

impl ForgetfulMailboxes {
    /// Removes everything.
    pub(super) fn forget(&self) {
        *self.0.lock().expect("nobody panics") = MemoryMailboxes::new();
    }

    fn now(&self) -> MemoryMailboxes {
        self.0.lock().expect("nobody panics").clone()
    }
}

impl Mailboxes for ForgetfulMailboxes {
    fn place(&self) -> String {
        "a forgetful place".to_owned()
    }

    fn bind(&self, by: String, term: Duration) -> MailboxFuture<'_, BindingEpoch> {
        Box::pin(async move { self.now().bind(by, term).await })
    }

    fn renew(&self, epoch: BindingEpoch, term: Duration) -> MailboxFuture<'_, ()> {
        Box::pin(async move { self.now().renew(epoch, term).await })
    }

    fn unbind(&self, epoch: BindingEpoch, final_status: Option<String>) -> MailboxFuture<'_, ()> {
        Box::pin(async move { self.now().unbind(epoch, final_status).await })
    }

    fn binding(&self) -> MailboxFuture<'_, MailboxBinding> {
        Box::pin(async move { self.now().binding().await })
    }

    fn send(&self, messages: Vec<MailboxMessage>) -> MailboxFuture<'_, ()> {
        Box::pin(async move { self.now().send(messages).await })
    }

    fn receive(&self, mailbox: MailboxId, within: Duration) -> MailboxFuture<'_, Vec<Vec<u8>>> {
        Box::pin(async move { self.now().receive(mailbox, within).await })
    }
}
