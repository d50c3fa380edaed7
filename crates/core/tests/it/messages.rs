//! Messages that are lost, repeated, delayed or reordered have no effect of their own.

use windlass_core::engine::Event;
use windlass_core::id::{Fence, Seq, StepIx};
use windlass_core::outcome::{
    INLINE_OUTPUT_MAX, Outcome, OutcomeKind, RunStatus, StepOutput, StepStatus,
};
use windlass_core::plan::StepSpec;
use windlass_core::session::{
    ExchangeReply, ExchangeReplyBody, FinishedAttempt, OutcomeVerdict, WorkerRefusal,
};
use windlass_core::time::Span;

use crate::test_cluster::{TTL, TestCluster};

/// Returns the reply to the newest exchange; a parked exchange may have been answered before it.
fn body(replies: &[ExchangeReply]) -> ExchangeReplyBody {
    let newest = replies.last().expect("a reply");
    newest.body.clone().expect("no refusal")
}

fn fences(replies: &[ExchangeReply]) -> Vec<Fence> {
    body(replies).grants.iter().map(|grant| grant.lease.fence).collect()
}

fn idle_crew() -> TestCluster {
    let mut crew = TestCluster::new().worker("alpha", 2, []);
    crew.submit("warm-up", |plan| plan.plain("hello", []));
    crew.succeed(["hello"]);
    crew
}

#[test]
fn grant_with_a_lost_reply_is_resent_under_the_same_fence() {
    let mut crew = idle_crew();
    crew.cut("alpha");
    crew.submit("ship", |plan| plan.plain("build", []));
    let fence = crew.fence("build");
    assert!(crew.running("alpha").is_empty(), "the reply was lost");
    crew.mate("alpha").cut = false;
    let exchange = crew.send("alpha");
    let replies = crew.arrive(&exchange);
    assert_eq!(fences(&replies), [fence]);
    crew.deliver(replies.clone());
    crew.deliver(replies);
    assert_eq!(crew.running("alpha"), ["build"], "once, however often it is sent");
    crew.pump();
    insta::assert_snapshot!(crew.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 online 1 of 2 slots
    run 1 warm-up succeeded
      hello succeeded
    run 2 ship running
      build running f2 on alpha s4
    ");
}

#[test]
fn repeated_exchange_is_answered_again_and_changes_nothing() {
    let mut crew = idle_crew();
    crew.cut("alpha");
    crew.submit("ship", |plan| plan.plains(["a", "b", "c"]));
    let exchange = crew.send("alpha");
    let first = crew.arrive(&exchange);
    let before = crew.text();
    let second = crew.arrive(&exchange);
    assert_eq!(fences(&first), fences(&second));
    assert_eq!(crew.text(), before);
}

#[test]
fn exchange_that_arrives_after_a_newer_one_has_no_effect() {
    let mut crew = idle_crew();
    let old = crew.send("alpha");
    crew.submit("ship", |plan| plan.plain("build", []));
    crew.exchange("alpha");
    assert_eq!(crew.running("alpha"), ["build"]);
    let before = crew.text();
    let replies = crew.arrive(&old);
    assert_eq!(replies[0].body, Err(WorkerRefusal::OldSeq));
    assert_eq!(crew.text(), before, "it does not list `build`, and nothing follows from that");
    crew.deliver(replies);
    assert_eq!(crew.mates["alpha"].stops, []);
    crew.succeed(["build"]);
    assert_eq!(crew.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn late_reply_is_dropped() {
    let mut crew = idle_crew();
    crew.cut("alpha");
    crew.submit("ship", |plan| plan.plain("build", []));
    crew.mate("alpha").cut = false;
    let exchange = crew.send("alpha");
    let late = crew.arrive(&exchange);
    crew.exchange("alpha");
    assert_eq!(crew.running("alpha"), ["build"]);
    crew.succeed(["build"]);
    crew.deliver(late);
    crew.pump();
    assert!(crew.running("alpha").is_empty());
    assert_eq!(crew.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn newer_exchange_answers_the_parked_one_with_an_empty_reply() {
    let mut crew = idle_crew();
    let first = crew.send("alpha");
    crew.arrive(&first);
    let second = crew.send("alpha");
    let replies = crew.arrive(&second);
    assert_eq!(replies[0].seq, first.seq);
    assert_eq!(body(&replies), ExchangeReplyBody::default());
}

#[test]
fn acknowledged_lease_that_the_worker_does_not_list_is_lost_at_once() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| plan.plain("build", []));
    let mut exchange = crew.send("alpha");
    exchange.in_flight.clear();
    assert_eq!(exchange.seen, Seq(1));
    crew.arrive(&exchange);
    insta::assert_snapshot!(crew.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 online 1 of 1 slots
    run 1 ship running
      build leased attempt 1 delivery 2 losses 1 f2 on alpha s3
      f1 GivenUp
    ");
}

/// `build` ends on alpha. The report is returned and not sent.
fn unsent_report(crew: &mut TestCluster) -> FinishedAttempt {
    crew.cut("alpha");
    crew.finish("alpha", "build", Outcome::exit(0));
    crew.mate("alpha").cut = false;
    let report = crew.send("alpha").finished;
    report.first().expect("alpha has something to report").clone()
}

#[test]
fn outcome_that_comes_after_the_next_lease_is_stale_and_kept_as_history() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| plan.plain("build", []));
    crew.join("beta", 1, []);
    let report = unsent_report(&mut crew);
    crew.cut("alpha");
    crew.pass(TTL);
    assert_eq!(crew.running("beta"), ["build"]);
    crew.mate("alpha").cut = false;
    let exchange = crew.send("alpha");
    assert_eq!(exchange.finished, std::slice::from_ref(&report));
    let verdicts = body(&crew.arrive(&exchange)).verdicts;
    assert_eq!(verdicts, [(report.lease.fence, OutcomeVerdict::Stale)]);
    assert_eq!(crew.status("build"), StepStatus::Running);
    let late = |event: &&Event| matches!(event, Event::LateOutcome(_));
    assert_eq!(crew.journal.iter().filter(late).count(), 1);
    let again = crew.send("alpha");
    assert_eq!(body(&crew.arrive(&again)).verdicts, [(report.lease.fence, OutcomeVerdict::Stale)]);
    assert_eq!(crew.journal.iter().filter(late).count(), 1, "history is written once");
    insta::assert_snapshot!(crew.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 online 0 of 1 slots
    worker beta w2 i1 online 1 of 1 slots
    run 1 ship running
      build running attempt 1 delivery 2 losses 1 f2 on beta s3
      f1 Late
    ");
}

#[test]
fn repeated_outcome_is_accepted_each_time() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| plan.plain("build", []));
    let report = unsent_report(&mut crew);
    for _ in 0..3 {
        let exchange = crew.send("alpha");
        let verdicts = body(&crew.arrive(&exchange)).verdicts;
        assert_eq!(verdicts, [(report.lease.fence, OutcomeVerdict::Accepted)]);
    }
    let ended = crew.journal.iter().filter(|event| matches!(event, Event::LeaseEnded(_)));
    assert_eq!(ended.count(), 1);
    assert_eq!(crew.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn new_leader_accepts_outcomes_that_the_old_one_accepted() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| {
        plan.plain("build", []);
        plan.plain("test", ["build"]);
    });
    let report = unsent_report(&mut crew);
    let exchange = crew.send("alpha");
    crew.arrive(&exchange);
    crew.take_over();
    let exchange = crew.send("alpha");
    assert_eq!(exchange.finished, std::slice::from_ref(&report), "it never saw the verdict");
    let reply = body(&crew.arrive(&exchange));
    assert_eq!(reply.verdicts, [(report.lease.fence, OutcomeVerdict::Accepted)]);
    assert_eq!(reply.grants.len(), 1, "and `test` is sent again");
    insta::assert_snapshot!(crew.text(), @r"
    term t2 ttl 15s fences 2
    worker alpha w1 i1 online 1 of 1 slots
    run 1 ship running
      build succeeded
      test leased f2 on alpha s5
    ");
}

#[test]
fn a_failed_attempt_that_is_reported_twice_is_retried_once() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    let retry = windlass_core::plan::RetryPolicy::times(3);
    let flaky = windlass_core::plan::StepSpec { retry, ..Default::default() };
    crew.submit("ship", |plan| plan.step("build", flaky, []));
    crew.cut("alpha");
    crew.finish("alpha", "build", Outcome::exit(1));
    crew.mate("alpha").cut = false;
    for _ in 0..2 {
        let exchange = crew.send("alpha");
        assert_eq!(body(&crew.arrive(&exchange)).verdicts[0].1, OutcomeVerdict::Accepted);
    }
    crew.take_over();
    let exchange = crew.send("alpha");
    assert_eq!(body(&crew.arrive(&exchange)).verdicts[0].1, OutcomeVerdict::Accepted);
    insta::assert_snapshot!(crew.text(), @r"
    term t2 ttl 15s fences 1
    worker alpha w1 i1 online 0 of 1 slots
    run 1 ship running
      build waiting attempt 2 delivery 0 losses 0
      f1 Reported
    ");
}

#[test]
fn exchange_stays_parked_while_a_step_takes_time_to_stop() {
    let mut crew = TestCluster::new().worker("alpha", 2, []);
    crew.submit("ship", |plan| plan.plains(["bad", "slow"]));
    crew.finish("alpha", "bad", Outcome::exit(1));
    assert_eq!(crew.mates["alpha"].stops.len(), 1, "slow gets a stop order");
    assert!(!crew.restless, "one order is enough");
    crew.finish("alpha", "slow", Outcome::plain(OutcomeKind::Cancelled));
    crew.pass(Span::secs(1));
    assert_eq!(crew.run_status("ship"), RunStatus::Failed);
}

/// The bytes of a message.
const MESSAGE_MAX: usize = 1024 * 1024;

/// `build` has an output of the maximum size, and eight steps read it.
fn heavy_crew() -> TestCluster {
    let mut crew = TestCluster::new().worker("alpha", 8, []);
    crew.submit("ship", |plan| {
        plan.plain("build", []);
        let reads = StepSpec { reads: vec![StepIx(0)], ..StepSpec::default() };
        for at in 0..8 {
            plan.step(&format!("page{at}"), reads.clone(), ["build"]);
        }
    });
    crew
}

/// Most of the output has to be escaped, once in the output and again in the message.
fn heavy_output() -> Outcome {
    let quotes = "\\\"".repeat(INLINE_OUTPUT_MAX / 2 - 8);
    Outcome {
        output: StepOutput::Inline(format!("{{\"text\":\"{quotes}\"}}").into()),
        ..Outcome::exit(0)
    }
}

fn size(replies: &[ExchangeReply]) -> usize {
    serde_json::to_string(replies.last().expect("a reply")).expect("replies are JSON").len()
}

#[test]
fn grants_beyond_the_message_limit_follow_in_the_next_reply() {
    let mut crew = heavy_crew();
    crew.cut("alpha");
    let now = crew.now;
    let (run, build) = crew.find("build");
    crew.mate("alpha").finish(run, build, heavy_output(), now);
    let exchange = crew.send("alpha");
    let first = crew.arrive(&exchange);
    assert_eq!(fences(&first), [2, 3, 4, 5, 6].map(Fence), "{} bytes", size(&first));
    assert!(size(&first) < MESSAGE_MAX);
    crew.mate("alpha").cut = false;
    crew.deliver(first);
    crew.pump();
    assert_eq!(crew.running("alpha").len(), 8, "the rest came at once");
    crew.succeed(["page0", "page1", "page2", "page3", "page4", "page5", "page6", "page7"]);
    assert_eq!(crew.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn resent_grants_fit_in_a_message() {
    let mut crew = heavy_crew();
    crew.cut("alpha");
    let now = crew.now;
    let (run, build) = crew.find("build");
    crew.mate("alpha").finish(run, build, heavy_output(), now);
    for _ in 0..3 {
        let exchange = crew.send("alpha");
        let lost = crew.arrive(&exchange);
        assert_eq!(fences(&lost), [2, 3, 4, 5, 6].map(Fence), "nothing is granted beside them");
        assert!(size(&lost) < MESSAGE_MAX);
    }
    crew.heal("alpha");
    assert_eq!(crew.running("alpha").len(), 8);
}

#[test]
fn reply_to_a_parked_exchange_fits_in_a_message() {
    let mut crew = heavy_crew();
    crew.join("beta", 8, []);
    crew.cut("beta");
    let now = crew.now;
    let (run, build) = crew.find("build");
    crew.mate("alpha").finish(run, build, heavy_output(), now);
    crew.cut("alpha");
    let exchange = crew.send("alpha");
    let replies = crew.arrive(&exchange);
    let granted: Vec<usize> =
        replies.iter().map(|it| it.body.as_ref().unwrap().grants.len()).collect();
    assert_eq!(granted.iter().sum::<usize>(), 8, "{granted:?}");
    assert!(replies.iter().all(|reply| size(std::slice::from_ref(reply)) < MESSAGE_MAX));
}
