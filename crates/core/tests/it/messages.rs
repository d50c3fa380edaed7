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

fn idle_cluster() -> TestCluster {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    cluster.submit("warm-up", |plan| plan.plain("hello", []));
    cluster.succeed(["hello"]);
    cluster
}

#[test]
fn grant_with_a_lost_reply_is_resent_under_the_same_fence() {
    let mut cluster = idle_cluster();
    cluster.cut("alpha");
    cluster.submit("ship", |plan| plan.plain("build", []));
    let fence = cluster.fence("build");
    assert!(cluster.running("alpha").is_empty(), "the reply was lost");
    cluster.mate("alpha").cut = false;
    let exchange = cluster.send("alpha");
    let replies = cluster.arrive(&exchange);
    assert_eq!(fences(&replies), [fence]);
    cluster.deliver(replies.clone());
    cluster.deliver(replies);
    assert_eq!(cluster.running("alpha"), ["build"], "once, however often it is sent");
    cluster.pump();
    insta::assert_snapshot!(cluster.text(), @r"
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
    let mut cluster = idle_cluster();
    cluster.cut("alpha");
    cluster.submit("ship", |plan| plan.plains(["a", "b", "c"]));
    let exchange = cluster.send("alpha");
    let first = cluster.arrive(&exchange);
    let before = cluster.text();
    let second = cluster.arrive(&exchange);
    assert_eq!(fences(&first), fences(&second));
    assert_eq!(cluster.text(), before);
}

#[test]
fn exchange_that_arrives_after_a_newer_one_has_no_effect() {
    let mut cluster = idle_cluster();
    let old = cluster.send("alpha");
    cluster.submit("ship", |plan| plan.plain("build", []));
    cluster.exchange("alpha");
    assert_eq!(cluster.running("alpha"), ["build"]);
    let before = cluster.text();
    let replies = cluster.arrive(&old);
    assert_eq!(replies[0].body, Err(WorkerRefusal::OldSeq));
    assert_eq!(cluster.text(), before, "it does not list `build`, and nothing follows from that");
    cluster.deliver(replies);
    assert_eq!(cluster.workers["alpha"].stops, []);
    cluster.succeed(["build"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn late_reply_is_dropped() {
    let mut cluster = idle_cluster();
    cluster.cut("alpha");
    cluster.submit("ship", |plan| plan.plain("build", []));
    cluster.mate("alpha").cut = false;
    let exchange = cluster.send("alpha");
    let late = cluster.arrive(&exchange);
    cluster.exchange("alpha");
    assert_eq!(cluster.running("alpha"), ["build"]);
    cluster.succeed(["build"]);
    cluster.deliver(late);
    cluster.pump();
    assert!(cluster.running("alpha").is_empty());
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn newer_exchange_answers_the_parked_one_with_an_empty_reply() {
    let mut cluster = idle_cluster();
    let first = cluster.send("alpha");
    cluster.arrive(&first);
    let second = cluster.send("alpha");
    let replies = cluster.arrive(&second);
    assert_eq!(replies[0].seq, first.seq);
    assert_eq!(body(&replies), ExchangeReplyBody::default());
}

#[test]
fn acknowledged_lease_that_the_worker_does_not_list_is_lost_at_once() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    let mut exchange = cluster.send("alpha");
    exchange.in_flight.clear();
    assert_eq!(exchange.seen, Seq(1));
    cluster.arrive(&exchange);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 online 1 of 1 slots
    run 1 ship running
      build leased attempt 1 delivery 2 losses 1 f2 on alpha s3
      f1 GivenUp
    ");
}

/// `build` ends on alpha. The report is returned and not sent.
fn unsent_report(cluster: &mut TestCluster) -> FinishedAttempt {
    cluster.cut("alpha");
    cluster.finish("alpha", "build", Outcome::exit(0));
    cluster.mate("alpha").cut = false;
    let report = cluster.send("alpha").finished;
    report.first().expect("alpha has something to report").clone()
}

#[test]
fn outcome_that_comes_after_the_next_lease_is_stale_and_kept_as_history() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    cluster.join("beta", 1, []);
    let report = unsent_report(&mut cluster);
    cluster.cut("alpha");
    cluster.pass(TTL);
    assert_eq!(cluster.running("beta"), ["build"]);
    cluster.mate("alpha").cut = false;
    let exchange = cluster.send("alpha");
    assert_eq!(exchange.finished, std::slice::from_ref(&report));
    let verdicts = body(&cluster.arrive(&exchange)).verdicts;
    assert_eq!(verdicts, [(report.lease.fence, OutcomeVerdict::Stale)]);
    assert_eq!(cluster.status("build"), StepStatus::Running);
    let late = |event: &&Event| matches!(event, Event::LateOutcome(_));
    assert_eq!(cluster.journal.iter().filter(late).count(), 1);
    let again = cluster.send("alpha");
    assert_eq!(
        body(&cluster.arrive(&again)).verdicts,
        [(report.lease.fence, OutcomeVerdict::Stale)]
    );
    assert_eq!(cluster.journal.iter().filter(late).count(), 1, "history is written once");
    insta::assert_snapshot!(cluster.text(), @r"
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
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    let report = unsent_report(&mut cluster);
    for _ in 0..3 {
        let exchange = cluster.send("alpha");
        let verdicts = body(&cluster.arrive(&exchange)).verdicts;
        assert_eq!(verdicts, [(report.lease.fence, OutcomeVerdict::Accepted)]);
    }
    let ended = cluster.journal.iter().filter(|event| matches!(event, Event::LeaseEnded(_)));
    assert_eq!(ended.count(), 1);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn new_leader_accepts_outcomes_that_the_old_one_accepted() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| {
        plan.plain("build", []);
        plan.plain("test", ["build"]);
    });
    let report = unsent_report(&mut cluster);
    let exchange = cluster.send("alpha");
    cluster.arrive(&exchange);
    cluster.take_over();
    let exchange = cluster.send("alpha");
    assert_eq!(exchange.finished, std::slice::from_ref(&report), "it never saw the verdict");
    let reply = body(&cluster.arrive(&exchange));
    assert_eq!(reply.verdicts, [(report.lease.fence, OutcomeVerdict::Accepted)]);
    assert_eq!(reply.grants.len(), 1, "and `test` is sent again");
    insta::assert_snapshot!(cluster.text(), @r"
    term t2 ttl 15s fences 2
    worker alpha w1 i1 online 1 of 1 slots
    run 1 ship running
      build succeeded
      test leased f2 on alpha s5
    ");
}

#[test]
fn a_failed_attempt_that_is_reported_twice_is_retried_once() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    let retry = windlass_core::plan::RetryPolicy::times(3);
    let flaky = windlass_core::plan::StepSpec { retry, ..Default::default() };
    cluster.submit("ship", |plan| plan.step("build", flaky, []));
    cluster.cut("alpha");
    cluster.finish("alpha", "build", Outcome::exit(1));
    cluster.mate("alpha").cut = false;
    for _ in 0..2 {
        let exchange = cluster.send("alpha");
        assert_eq!(body(&cluster.arrive(&exchange)).verdicts[0].1, OutcomeVerdict::Accepted);
    }
    cluster.take_over();
    let exchange = cluster.send("alpha");
    assert_eq!(body(&cluster.arrive(&exchange)).verdicts[0].1, OutcomeVerdict::Accepted);
    insta::assert_snapshot!(cluster.text(), @r"
    term t2 ttl 15s fences 1
    worker alpha w1 i1 online 0 of 1 slots
    run 1 ship running
      build waiting attempt 2 delivery 0 losses 0
      f1 Reported
    ");
}

#[test]
fn exchange_stays_parked_while_a_step_takes_time_to_stop() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    cluster.submit("ship", |plan| plan.plains(["bad", "slow"]));
    cluster.finish("alpha", "bad", Outcome::exit(1));
    assert_eq!(cluster.workers["alpha"].stops.len(), 1, "slow gets a stop order");
    assert!(!cluster.restless, "one order is enough");
    cluster.finish("alpha", "slow", Outcome::plain(OutcomeKind::Cancelled));
    cluster.pass(Span::secs(1));
    assert_eq!(cluster.run_status("ship"), RunStatus::Failed);
}

/// The bytes of a message.
const MESSAGE_MAX: usize = 1024 * 1024;

/// `build` has an output of the maximum size, and eight steps read it.
fn heavy_cluster() -> TestCluster {
    let mut cluster = TestCluster::new().worker("alpha", 8, []);
    cluster.submit("ship", |plan| {
        plan.plain("build", []);
        let reads = StepSpec { reads: vec![StepIx(0)], ..StepSpec::default() };
        for at in 0..8 {
            plan.step(&format!("page{at}"), reads.clone(), ["build"]);
        }
    });
    cluster
}

/// Most of the output has to be escaped, once in the output and again in the message.
fn heavy_output() -> Outcome {
    let quotes = "\\\"".repeat(INLINE_OUTPUT_MAX / 2 - 8);
    Outcome { output: StepOutput::inline(format!("{{\"text\":\"{quotes}\"}}")), ..Outcome::exit(0) }
}

fn size(replies: &[ExchangeReply]) -> usize {
    serde_json::to_string(replies.last().expect("a reply")).expect("replies are JSON").len()
}

#[test]
fn grants_beyond_the_message_limit_follow_in_the_next_reply() {
    let mut cluster = heavy_cluster();
    cluster.cut("alpha");
    let now = cluster.now;
    let (run, build) = cluster.find("build");
    cluster.mate("alpha").finish(run, build, heavy_output(), now);
    let exchange = cluster.send("alpha");
    let first = cluster.arrive(&exchange);
    assert_eq!(fences(&first), [2, 3, 4, 5, 6].map(Fence), "{} bytes", size(&first));
    assert!(size(&first) < MESSAGE_MAX);
    cluster.mate("alpha").cut = false;
    cluster.deliver(first);
    cluster.pump();
    assert_eq!(cluster.running("alpha").len(), 8, "the rest came at once");
    cluster.succeed(["page0", "page1", "page2", "page3", "page4", "page5", "page6", "page7"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn resent_grants_fit_in_a_message() {
    let mut cluster = heavy_cluster();
    cluster.cut("alpha");
    let now = cluster.now;
    let (run, build) = cluster.find("build");
    cluster.mate("alpha").finish(run, build, heavy_output(), now);
    for _ in 0..3 {
        let exchange = cluster.send("alpha");
        let lost = cluster.arrive(&exchange);
        assert_eq!(fences(&lost), [2, 3, 4, 5, 6].map(Fence), "nothing is granted beside them");
        assert!(size(&lost) < MESSAGE_MAX);
    }
    cluster.heal("alpha");
    assert_eq!(cluster.running("alpha").len(), 8);
}

#[test]
fn reply_to_a_parked_exchange_fits_in_a_message() {
    let mut cluster = heavy_cluster();
    cluster.join("beta", 8, []);
    cluster.cut("beta");
    let now = cluster.now;
    let (run, build) = cluster.find("build");
    cluster.mate("alpha").finish(run, build, heavy_output(), now);
    cluster.cut("alpha");
    let exchange = cluster.send("alpha");
    let replies = cluster.arrive(&exchange);
    let granted: Vec<usize> =
        replies.iter().map(|it| it.body.as_ref().unwrap().grants.len()).collect();
    assert_eq!(granted.iter().sum::<usize>(), 8, "{granted:?}");
    assert!(replies.iter().all(|reply| size(std::slice::from_ref(reply)) < MESSAGE_MAX));
}
