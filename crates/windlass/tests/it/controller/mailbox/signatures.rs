//! A worker proves its id with each request, and fetches only the large results that its leased steps read.

use std::sync::Arc;
use std::time::Duration;

use windlass::core::access::SecretDigest;
use windlass::core::engine::WorkerStatus;
use windlass::core::id::{Incarnation, Seq, Term};
use windlass::core::large_value::{LargeValueLocation, LargeValueRef};
use windlass::core::outcome::{Outcome, StepOutput};
use windlass::core::plan::{PlanBuilder, StepSpec};
use windlass::core::session::{
    Exchange, FinishedAttempt, InFlightLease, LeaseGrant, LeasePhase, LeaseRef,
};
use windlass::core::time::Span;
use windlass_link::mailbox::{
    MailboxId, MailboxRequest, MailboxWorkerLink, Mailboxes, MemoryMailboxes, MessageEnvelope,
    SignedMailboxRequest,
};
use windlass_link::output::{LogChunk, OutputLink as _};
use windlass_link::{LinkError, WorkerLink as _};
use windlass_net::credentials::WorkerSecret;
use windlass_net::shutdown::ShutdownSender;
use windlass_store::logs::LogId;

use super::mailbox_node::{MailboxLeader, key, register};
use crate::controller::test_node::{journal, pass, plan, run};

/// A worker whose exchanges the test makes.
struct ScriptedMailboxWorker {
    secret: WorkerSecret,
    link: MailboxWorkerLink,
    seq: u64,
    term: Term,
    _postman: ShutdownSender,
}

impl ScriptedMailboxWorker {
    async fn join(mailboxes: &Arc<dyn Mailboxes>) -> Self {
        let secret = WorkerSecret::generate().expect("random bytes");
        let (link, receive_loop) =
            MailboxWorkerLink::new(Arc::clone(mailboxes), key(), &secret).expect("random bytes");
        let (sender, ends) = ShutdownSender::new();
        tokio::spawn(receive_loop.run(ends));
        let joined = link.register(register(secret.worker_id())).await.expect("it answers");
        let term = joined.expect("it may join").term;
        Self { secret, link, seq: 0, term, _postman: sender }
    }

    fn next(&mut self, finished: Vec<FinishedAttempt>) -> Exchange {
        self.seq += 1;
        Exchange {
            drains: false,
            worker: self.secret.worker_id(),
            incarnation: Incarnation(1),
            seq: Seq(self.seq),
            seen: Seq(self.seq - 1),
            term: self.term,
            finished,
            in_flight: Vec::new(),
            want: 1,
        }
    }

    /// Reports what has finished, and is granted one step.
    async fn granted(&mut self, finished: Vec<FinishedAttempt>) -> LeaseGrant {
        let exchange = self.next(finished);
        let reply = self.link.exchange(exchange).await.expect("it answers");
        reply.body.expect("it is known").grants.pop().expect("a step is ready")
    }
}

const MADE: &[u8] = b"a large result";

/// Creates the result of a leased step. Returns the log that contains it, and the outcome of the step.
async fn make(worker: &ScriptedMailboxWorker, grant: &LeaseGrant) -> (LogId, FinishedAttempt) {
    let LeaseRef { run, step, attempt, .. } = grant.lease;
    let value = LogId::new(run, step, attempt, grant.delivery).value();
    let piece = LogChunk { log: value, at: 0, bytes: MADE.to_vec() };
    let taken = worker.link.ship(vec![piece]).await.expect("it is taken");
    assert_eq!(taken.sizes, [Some(MADE.len() as u64)]);
    let location = LargeValueLocation::Leader { hash: [7; 32], size: MADE.len() as u64 };
    let kept = LargeValueRef { run, step, attempt, delivery: grant.delivery, location };
    let outcome = Outcome { output: StepOutput::kept(kept), ..Outcome::exit(0) };
    (value, FinishedAttempt { lease: grant.lease, outcome, ran: None })
}

fn denied<T: std::fmt::Debug>(answered: Result<T, LinkError>) -> String {
    let Err(LinkError::Denied { reason, .. }) = answered else { panic!("{answered:?}") };
    reason
}

#[tokio::test(start_paused = true)]
async fn worker_fetches_results_that_its_leased_step_reads_and_no_others() {
    let mailboxes: Arc<dyn Mailboxes> = Arc::new(MemoryMailboxes::new());
    let leader = MailboxLeader::start(&journal(), &mailboxes).await.expect("nobody leads");
    let mut plan = PlanBuilder::new("ship");
    let build = plan.step("build", StepSpec::default());
    let deploy = plan.step("deploy", StepSpec { reads: vec![build], ..StepSpec::default() });
    plan.needs(deploy, build);
    leader.node.submit(run(1), &Arc::new(plan.build().expect("a valid plan"))).await;
    let mut own = ScriptedMailboxWorker::join(&mailboxes).await;
    let first = own.granted(Vec::new()).await;
    let (value, finished) = make(&own, &first).await;
    let reason = denied(own.link.fetch(value, 0).await);
    assert!(reason.contains("no lease of a step that reads it"), "{reason}");
    let deploying = own.granted(vec![finished]).await;
    assert_eq!(&*deploying.name, "deploy");
    assert_eq!(own.link.fetch(value, 2).await.expect("it is read").bytes, &MADE[2..]);
    let other = ScriptedMailboxWorker::join(&mailboxes).await;
    denied(other.link.fetch(value, 0).await);
    denied(own.link.fetch(value.output(), 0).await);
    drop(leader);
}

/// All workers have the run's secret, and can read the messages of others.
#[tokio::test(start_paused = true)]
async fn request_of_a_worker_is_accepted_only_with_its_signature() {
    let mailboxes: Arc<dyn Mailboxes> = Arc::new(MemoryMailboxes::new());
    let leader = MailboxLeader::start(&journal(), &mailboxes).await.expect("nobody leads");
    let own = ScriptedMailboxWorker::join(&mailboxes).await;
    let other = WorkerSecret::generate().expect("random bytes");
    let epoch = mailboxes.binding().await.expect("it answers").epoch;
    let envelope =
        MessageEnvelope { epoch, from: MailboxId(7 << 32), to: MailboxId::LEADER, number: 1 };
    let ended = MailboxRequest::Ended { incarnation: Incarnation(1), started: Vec::new() };
    for (signer, is_heard) in [(&other, false), (&own.secret, true)] {
        let signed = SignedMailboxRequest::new(&ended, &envelope, signer);
        let signed = postcard::to_stdvec(&signed).expect("plain data");
        let signed = postcard::from_bytes::<(MailboxRequest, SecretDigest, Vec<u8>)>(&signed);
        let (ask, _, signature) = signed.expect("its fields");
        let forged = (ask, own.secret.digest(), signature);
        let messages = envelope.seal(&key(), &forged).expect("it is small");
        mailboxes.send(messages).await.expect("there is room");
        let answers = mailboxes.receive(envelope.from, Duration::from_secs(1)).await;
        assert_eq!(answers.expect("it is reached").len(), usize::from(is_heard));
    }
    drop(leader);
}

#[tokio::test(start_paused = true)]
async fn worker_makes_no_exchange_for_another() {
    let mailboxes: Arc<dyn Mailboxes> = Arc::new(MemoryMailboxes::new());
    let leader = MailboxLeader::start(&journal(), &mailboxes).await.expect("nobody leads");
    let mut own = ScriptedMailboxWorker::join(&mailboxes).await;
    let other = ScriptedMailboxWorker::join(&mailboxes).await;
    let forged = own.next(Vec::new());
    let reason = denied(other.link.exchange(forged).await);
    assert!(reason.contains("the secret is not"), "{reason}");
    drop(leader);
}

/// Every program with the run's secret can repeat a message.
#[tokio::test(start_paused = true)]
async fn replayed_messages_of_a_dead_worker_do_not_keep_its_leases() {
    let mailboxes: Arc<dyn Mailboxes> = Arc::new(MemoryMailboxes::new());
    let leader = MailboxLeader::start(&journal(), &mailboxes).await.expect("nobody leads");
    let plan = plan(["s"]);
    leader.node.submit(run(1), &plan).await;
    let mut own = ScriptedMailboxWorker::join(&mailboxes).await;
    let lease = own.granted(Vec::new()).await.lease;
    let in_flight = vec![InFlightLease { lease, phase: LeasePhase::Started }];
    let last = MailboxRequest::Exchange(Exchange { in_flight, ..own.next(Vec::new()) });
    let epoch = mailboxes.binding().await.expect("it answers").epoch;
    let envelope =
        MessageEnvelope { epoch, from: MailboxId(7 << 32), to: MailboxId::LEADER, number: 9 };
    let signed = SignedMailboxRequest::new(&last, &envelope, &own.secret);
    let messages = envelope.seal(&key(), &signed).expect("it is small");
    let status = || {
        leader.node.handle.views().with(|view| view.engine.worker_status(own.secret.worker_id()))
    };
    mailboxes.send(messages.clone()).await.expect("there is room");
    pass(Span::secs(1)).await;
    assert_eq!(status(), Some(WorkerStatus::Online));
    let leased = leader.node.step_status(run(1), &plan, "s");
    for _ in 0..600 {
        mailboxes.send(messages.clone()).await.expect("there is room");
        pass(Span::secs(1)).await;
    }
    assert_eq!(status(), Some(WorkerStatus::Lost));
    assert_ne!(leader.node.step_status(run(1), &plan, "s"), leased, "its lease has ended");
    drop(leader);
}
