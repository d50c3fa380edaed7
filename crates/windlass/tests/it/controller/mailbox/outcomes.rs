//! The ends of leaders and workers that only mailboxes connect.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use windlass::conformance::{FaultyMailboxes, MailboxFaults};
use windlass::core::id::{Incarnation, WorkerId};
use windlass::core::outcome::RunStatus;
use windlass::core::plan::{Plan, PlanBuilder, StepSpec};
use windlass::core::session::{RegisterRequest, WorkerRefusal};
use windlass::core::time::Span;
use windlass_controller::mailbox_server::MailboxServerError;
use windlass_link::mailbox::{BindingEpoch, MailboxError, MailboxKey, Mailboxes, MemoryMailboxes};
use windlass_link::output::{LOG_CHUNKS_MAX, LogChunk, OutputLink as _};
use windlass_link::{LinkError, WorkerLink as _};
use windlass_store::logs::{LogId, LogStore as _};
use windlass_worker::WorkerError;

use super::faults::ForgetfulMailboxes;
use super::mailbox_node::{GRACE, MailboxLeader, MailboxWitness, MailboxWorker, key, register};
use crate::controller::test_node::{journal, pass, plan, run};

fn memory() -> Arc<dyn Mailboxes> {
    Arc::new(MemoryMailboxes::new())
}

fn many(steps: usize) -> Arc<Plan> {
    let mut plan = PlanBuilder::new("many");
    for step in 0..steps {
        plan.step(&format!("step-{step}"), StepSpec::default());
    }
    Arc::new(plan.build().expect("a valid plan"))
}

#[tokio::test(start_paused = true)]
async fn three_workers_run_every_step_once_and_their_output_arrives() {
    let (journal, mailboxes, witness) = (journal(), memory(), Arc::new(MailboxWitness::default()));
    let leader = MailboxLeader::start(&journal, &mailboxes).await.expect("nobody leads");
    let mates = [(); 3].map(|()| MailboxWorker::join(&mailboxes, &witness));
    let plan = many(60);
    leader.node.submit(run(1), &plan).await;
    assert_eq!(leader.ended(run(1)).await, RunStatus::Succeeded);
    let starts = witness.starts().clone();
    assert_eq!((starts.len(), starts.values().max()), (60, Some(&1)));
    let step = plan.find("step-7").expect("it is there");
    let log = LogId::new(run(1), step, 1, 1);
    let read = leader.logs.read(log, 0..100).await.expect("it reads");
    assert_eq!(String::from_utf8_lossy(&read.bytes), "this is step-7\n");
    assert_eq!(mates[0].link.hello().await.expect("it answers").cluster, "ours");
}

#[tokio::test(start_paused = true)]
async fn a_worker_cannot_join_under_a_number_that_is_not_made_from_its_secret() {
    let (journal, mailboxes, witness) = (journal(), memory(), Arc::new(MailboxWitness::default()));
    let leader = MailboxLeader::start(&journal, &mailboxes).await.expect("nobody leads");
    let (honest, other) =
        (MailboxWorker::join(&mailboxes, &witness), MailboxWorker::join(&mailboxes, &witness));
    let again = |worker| RegisterRequest { incarnation: Incarnation(2), ..register(worker) };
    // The leader's own worker has the first number.
    for stolen in [WorkerId(1), honest.secret.worker_id()] {
        let joined = other.link.register(again(stolen)).await;
        assert_eq!(joined.expect("it answers").err(), Some(WorkerRefusal::OtherWorker(stolen)));
    }
    let own = other.secret.worker_id();
    assert!(other.link.register(again(own)).await.expect("it answers").is_ok());
    drop(leader);
}

#[tokio::test(start_paused = true)]
async fn output_of_another_workers_step_is_not_kept() {
    let (journal, mailboxes, witness) = (journal(), memory(), Arc::new(MailboxWitness::default()));
    let leader = MailboxLeader::start(&journal, &mailboxes).await.expect("nobody leads");
    let mate = MailboxWorker::join(&mailboxes, &witness);
    let plan = plan(["build"]);
    leader.node.submit(run(1), &plan).await;
    leader.ended(run(1)).await;
    mate.die();
    let other = MailboxWorker::join(&mailboxes, &witness);
    let log = LogId { run: run(1), attempt: 1, delivery: 1, ..LogId::default() };
    let forged = windlass_link::output::LogChunk { log, at: 0, bytes: b"forged".to_vec() };
    let taken = windlass_link::output::OutputLink::ship(&other.link, vec![forged]).await;
    assert_eq!(taken.expect("it answers").sizes, [None]);
}

#[tokio::test(start_paused = true)]
async fn output_for_unknown_logs_is_counted_against_the_worker_that_sends_it() {
    let (journal, mailboxes, witness) = (journal(), memory(), Arc::new(MailboxWitness::default()));
    let _leader = MailboxLeader::start(&journal, &mailboxes).await.expect("nobody leads");
    let [mate, other] = [(); 2].map(|()| MailboxWorker::join(&mailboxes, &witness));
    let unknown = |count: usize| {
        let log = LogId { run: run(1), attempt: 1, delivery: 1, ..LogId::default() };
        vec![LogChunk { log, at: 0, bytes: b"x".to_vec() }; count]
    };
    assert!(mate.link.ship(unknown(LOG_CHUNKS_MAX + 1)).await.is_err(), "that is too long a list");
    let mut taken = Vec::new();
    for _ in 0..6 {
        taken.push(mate.link.ship(unknown(LOG_CHUNKS_MAX)).await.is_ok());
    }
    assert!(taken[0] && !taken[5], "{taken:?}");
    assert_eq!(other.link.ship(unknown(1)).await.expect("it sent little").sizes, [None]);
    pass(Span::secs(5)).await;
    assert!(mate.link.ship(unknown(LOG_CHUNKS_MAX)).await.is_ok(), "it has waited");
}

#[tokio::test(start_paused = true)]
async fn second_leader_is_refused_with_the_first() {
    let mailboxes = memory();
    let first = MailboxLeader::start(&journal(), &mailboxes).await.expect("nobody leads");
    let second = MailboxLeader::start(&journal(), &mailboxes).await.err();
    let Some(MailboxServerError::Mail { error: MailboxError::AlreadyLed { by }, .. }) = second
    else {
        panic!("{second:?}");
    };
    assert_eq!(by, "ann, pid 7");
    first.end().await.expect("in good order");
    MailboxLeader::start(&journal(), &mailboxes).await.expect("it was given up");
}

#[tokio::test(start_paused = true)]
async fn next_leader_of_a_journal_continues_running_steps() {
    let (journal, mailboxes, witness) = (journal(), memory(), Arc::new(MailboxWitness::default()));
    let leader = MailboxLeader::start(&journal, &mailboxes).await.expect("nobody leads");
    let _mates = [(); 2].map(|()| MailboxWorker::join(&mailboxes, &witness));
    leader.node.submit(run(1), &many(200)).await;
    while witness.starts().len() < 20 {
        pass(Span::millis(1)).await;
    }
    leader.crash(&journal).await;
    let began = Instant::now();
    let next = MailboxLeader::start(&journal, &mailboxes).await.expect("the binding has lapsed");
    assert_eq!(mailboxes.binding().await.expect("it answers").epoch, BindingEpoch(2));
    assert_eq!(next.ended(run(1)).await, RunStatus::Succeeded);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let starts = witness.starts().clone();
    assert!(starts.len() == 200 && starts.values().all(|times| *times <= 2), "{starts:?}");
}

#[tokio::test(start_paused = true)]
async fn restarted_leader_gets_the_existing_workers() {
    let (mailboxes, witness) = (memory(), Arc::new(MailboxWitness::default()));
    let lost = journal();
    let leader = MailboxLeader::start(&lost, &mailboxes).await.expect("nobody leads");
    let _mate = MailboxWorker::join(&mailboxes, &witness);
    leader.node.submit(run(1), &plan(["long"])).await;
    while witness.starts().is_empty() {
        pass(Span::millis(1)).await;
    }
    leader.crash(&lost).await;
    let anew = MailboxLeader::start(&journal(), &mailboxes).await.expect("the binding has lapsed");
    anew.node.submit(run(2), &plan(["build"])).await;
    assert_eq!(anew.ended(run(2)).await, RunStatus::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn finished_leader_posts_its_final_status_and_every_worker_exits() {
    let (journal, mailboxes, witness) = (journal(), memory(), Arc::new(MailboxWitness::default()));
    let leader = MailboxLeader::start(&journal, &mailboxes).await.expect("nobody leads");
    let mate = MailboxWorker::join(&mailboxes, &witness);
    leader.node.submit(run(1), &plan(["build"])).await;
    leader.ended(run(1)).await;
    leader.final_status.write("succeeded");
    let began = Instant::now();
    leader.end().await.expect("in good order");
    assert_eq!(mate.ends().await, Err(WorkerError::Finished("succeeded".to_owned())));
    assert!(began.elapsed() < Duration::from_millis(100), "it is told: {:?}", began.elapsed());
    let late = MailboxWorker::join(&mailboxes, &witness).ends().await;
    assert_eq!(late, Err(WorkerError::Finished("succeeded".to_owned())));
    let next =
        MailboxLeader::start(&crate::controller::test_node::journal(), &mailboxes).await.err();
    assert!(matches!(
        next,
        Some(MailboxServerError::Mail { error: MailboxError::Finished { .. }, .. })
    ));
}

#[tokio::test(start_paused = true)]
async fn worker_without_a_leader_ends_after_its_grace_and_reports_why() {
    let (journal, mailboxes, witness) = (journal(), memory(), Arc::new(MailboxWitness::default()));
    let leader = MailboxLeader::start(&journal, &mailboxes).await.expect("nobody leads");
    let mate = MailboxWorker::join(&mailboxes, &witness);
    leader.node.submit(run(1), &plan(["long"])).await;
    while witness.starts().is_empty() {
        pass(Span::millis(1)).await;
    }
    let died = Instant::now();
    leader.crash(&journal).await;
    let Err(WorkerError::NoLeader { last, .. }) = mate.ends().await else { panic!() };
    assert!(last.contains("there is no leader"), "{last}");
    let took = died.elapsed();
    assert!(took <= GRACE + Duration::from_secs(2), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn leader_without_the_link_stops_before_its_binding_ends_and_worker_after_its_grace() {
    let (journal, witness) = (journal(), Arc::new(MailboxWitness::default()));
    let storm = FaultyMailboxes::new(memory(), MailboxFaults::default(), 1);
    let mailboxes: Arc<dyn Mailboxes> = Arc::new(storm.clone());
    let leader = MailboxLeader::start(&journal, &mailboxes).await.expect("nobody leads");
    let mate = MailboxWorker::join(&mailboxes, &witness);
    leader.node.submit(run(1), &plan(["build"])).await;
    leader.ended(run(1)).await;
    storm.set_disconnected(true);
    let cut = Instant::now();
    let ended = leader.server_ends().await;
    let Err(MailboxServerError::Lapsed { waited, .. }) = &ended else { panic!("{ended:?}") };
    assert!(cut.elapsed() < *waited, "{ended:?}");
    let Err(WorkerError::NoLeader { last, .. }) = mate.ends().await else { panic!() };
    assert!(last.contains("the check has disconnected it"), "{last}");
    assert!(cut.elapsed() > GRACE / 2 && cut.elapsed() < GRACE * 2, "{:?}", cut.elapsed());
}

#[tokio::test(start_paused = true)]
async fn emptied_mailbox_ends_leader_and_workers_at_once() {
    let (journal, witness) = (journal(), Arc::new(MailboxWitness::default()));
    let forgetful = ForgetfulMailboxes::default();
    let mailboxes: Arc<dyn Mailboxes> = Arc::new(forgetful.clone());
    let leader = MailboxLeader::start(&journal, &mailboxes).await.expect("nobody leads");
    let mate = MailboxWorker::join(&mailboxes, &witness);
    leader.node.submit(run(1), &plan(["build"])).await;
    leader.ended(run(1)).await;
    let began = Instant::now();
    forgetful.forget();
    let ended = mate.ends().await;
    let Err(WorkerError::Denied(LinkError::StateLost(why))) = &ended else { panic!("{ended:?}") };
    assert!(why.contains("has lost its leader's binding"), "{why}");
    let ended = leader.server_ends().await;
    assert!(
        matches!(
            ended,
            Err(MailboxServerError::Mail { error: MailboxError::StateLost { .. }, .. })
        ),
        "{ended:?}"
    );
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn messages_without_the_secret_are_ignored() {
    let (journal, mailboxes, witness) = (journal(), memory(), Arc::new(MailboxWitness::default()));
    let leader = MailboxLeader::start(&journal, &mailboxes).await.expect("nobody leads");
    let stranger = MailboxWorker::with_key(&mailboxes, &witness, MailboxKey::new("run-7", None));
    let began = Instant::now();
    assert!(matches!(stranger.ends().await, Err(WorkerError::NoLeader { .. })));
    assert_eq!(began.elapsed().as_secs(), GRACE.as_secs());
    let _mate = MailboxWorker::with_key(&mailboxes, &witness, key());
    leader.node.submit(run(1), &plan(["build"])).await;
    assert_eq!(leader.ended(run(1)).await, RunStatus::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn dead_workers_steps_move_once_its_guard_has_reported() {
    let (journal, mailboxes, witness) = (journal(), memory(), Arc::new(MailboxWitness::default()));
    let leader = MailboxLeader::start(&journal, &mailboxes).await.expect("nobody leads");
    let first = MailboxWorker::join(&mailboxes, &witness);
    leader.node.submit(run(1), &plan(["long"])).await;
    while witness.starts().is_empty() {
        pass(Span::millis(1)).await;
    }
    let second = MailboxWorker::join(&mailboxes, &witness);
    pass(Span::secs(1)).await;
    let died = Instant::now();
    first.die();
    first.link.ended(Incarnation(1), Vec::new()).await.expect("the leader hears it");
    while witness.starts().values().sum::<u32>() < 2 {
        pass(Span::millis(1)).await;
    }
    assert!(died.elapsed() < Duration::from_millis(500), "{:?}", died.elapsed());
    assert_ne!(first.secret.worker_id(), second.secret.worker_id());
}
