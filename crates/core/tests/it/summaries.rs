//! Summaries of runs: the events of the real engine, folded into a summary.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::engine::{
    CancelLevel, CancelReason, EngineRequest, Event, RunOptions, UnplaceablePolicy, event,
};
use windlass_core::id::{RunId, StepIx};
use windlass_core::outcome::{Outcome, OutcomeKind, RunStatus, StepOutput, StepStatus};
use windlass_core::plan::{
    OnFailure, Placement, PlanBuilder, RetryPolicy, StatusCondition, StepSpec,
};
use windlass_core::requirement::Requirement;
use windlass_core::session::StopReason;
use windlass_core::summary::{RunForecast, RunSummary, RunVerdict, StepDurations, VerdictRequest};
use windlass_core::time::{Span, Time};

use crate::plan_sketch::PlanSketch;
use crate::test_cluster::TestCluster;

/// A test cluster with a fold of its events.
struct SummaryCluster {
    cluster: TestCluster,
    summary: Option<RunSummary>,
    seen: usize,
}

impl SummaryCluster {
    fn new(cluster: TestCluster, options: RunOptions, draw: impl FnOnce(&mut PlanSketch)) -> Self {
        let mut story = Self { cluster, summary: None, seen: 0 };
        story.cluster.submit_with("ship", options, draw);
        story.fold();
        story
    }

    /// Folds the new events.
    fn fold(&mut self) {
        let now = self.cluster.now;
        let registered = |event: &&Event| matches!(event, Event::WorkerRegistered(_));
        for event in &self.cluster.journal[self.seen..] {
            if let Some(summary) = &mut self.summary {
                summary.apply_event(now, event);
                continue;
            }
            self.summary = RunSummary::from_submitted(now, event);
            if let Some(summary) = &mut self.summary {
                let before = self.cluster.journal.iter().filter(registered);
                before.for_each(|event| summary.apply_event(now, event));
            }
        }
        self.seen = self.cluster.journal.len();
    }

    fn after(&mut self, secs: u64) -> &mut Self {
        self.cluster.pass(Span::secs(secs));
        self.fold();
        self
    }

    fn finish(&mut self, step: &str, outcome: Outcome) -> &mut Self {
        let worker = self.cluster.holder(step).expect("a worker runs the step");
        self.cluster.finish(&worker, step, outcome);
        self.fold();
        self
    }

    fn succeed(&mut self, step: &str) -> &mut Self {
        self.finish(step, Outcome::exit(0))
    }

    fn summary(&self) -> &RunSummary {
        self.summary.as_ref().expect("the run was submitted")
    }

    /// Returns one line per step: status, attempts, wait, time, reason.
    fn text(&self) -> String {
        let (summary, now) = (self.summary(), self.cluster.now);
        let line = |step: windlass_core::summary::StepSummary<'_>| {
            let tries: Vec<String> = step
                .deliveries()
                .iter()
                .map(|one| format!("{}.{}@{}", one.attempt, one.delivery, one.worker))
                .collect();
            let (wait, time) = (step.wait(now), step.time(now));
            let reason = step.reason().unwrap_or_default();
            let text = format!(
                "{} {} [{}] wait {wait} time {time} {reason}",
                step.name(),
                step.status(),
                tries.join(" ")
            );
            text.trim_end().to_owned()
        };
        summary.steps().map(line).collect::<Vec<String>>().join("\n")
    }

    fn verdict(&self) -> RunVerdict {
        self.summary().verdict(VerdictRequest::default())
    }
}

fn needing(label: &str) -> StepSpec {
    let placement = Placement { requirement: Requirement::all([label]), ..Placement::default() };
    StepSpec { placement, ..StepSpec::default() }
}

fn one_machine() -> RunOptions {
    RunOptions { unplaceable: UnplaceablePolicy::Skip, ..RunOptions::default() }
}

#[test]
fn summary_matches_the_engine_and_shows_waits_attempts_and_critical_path() {
    let cluster = TestCluster::new().worker("alpha", 2, ["linux"]);
    let mut story = SummaryCluster::new(cluster, one_machine(), |plan| {
        plan.plain("fetch", []);
        plan.matrix("test", ["linux", "windows"], needing);
        plan.step(
            "flaky",
            StepSpec { retry: RetryPolicy::times(2), ..StepSpec::default() },
            ["fetch"],
        );
        plan.plain("ship", ["test", "flaky"]);
    });
    story.after(2).succeed("test[linux]");
    story.after(3).succeed("fetch");
    story.after(4).finish("flaky", Outcome::exit(9));
    story.after(6).after(1).succeed("flaky");
    let output = StepOutput::inline(r#"{"version":"1.2"}"#);
    story.after(5).finish("ship", Outcome { output, ..Outcome::exit(0) });
    insta::assert_snapshot!(story.text(), @r"
    fetch succeeded [1.1@alpha] wait 0s time 5s
    test[linux] succeeded [1.1@alpha] wait 0s time 2s
    test[windows] skipped [] wait 0s time 0s needs windows, which no worker here has
    flaky succeeded [1.1@alpha 2.1@alpha] wait 6s time 5s
    ship succeeded [1.1@alpha] wait 0s time 5s
    ");

    let summary = story.summary();
    for step in summary.steps() {
        let engine = story.cluster.engine.step_status(summary.run(), step.ix());
        assert_eq!(engine, Some(step.status()), "{}", step.name());
    }
    assert_eq!((summary.status(), story.verdict()), (RunStatus::Succeeded, RunVerdict::Ok));
    let path = summary.critical_path();
    let chain: Vec<&str> = path.links.iter().map(|link| summary.plan().name(link.step)).collect();
    assert_eq!(chain, ["fetch", "flaky", "ship"]);
    assert!(path.percent > 70, "{path:?}");
    let named = [summary.plan().find("test").unwrap()];
    let request = VerdictRequest { named: &named, interrupted: false };
    assert_eq!(
        summary.verdict(request),
        RunVerdict::NoMatchingWorker,
        "a selected step is meant to run"
    );
    let last = summary.step(summary.plan().find("ship").unwrap()).unwrap();
    assert_eq!(last.to_json(story.cluster.now)["outputs"]["version"], "1.2");
}

#[test]
fn step_leased_ahead_counts_as_waiting_until_it_starts() {
    let mut story =
        SummaryCluster::new(TestCluster::new().worker("alpha", 1, []), one_machine(), |plan| {
            plan.plain("first", []);
            plan.plain("second", []);
        });
    // No event shows the start of the second step before it ends.
    story.after(3).succeed("first");
    story.cluster.pass(Span::secs(2));
    story.succeed("second");
    insta::assert_snapshot!(story.text(), @r"
    first succeeded [1.1@alpha] wait 0s time 3s
    second succeeded [1.1@alpha] wait 3s time 2s
    ");
}

#[test]
fn root_causes_come_first_with_the_number_of_their_dependents() {
    let cluster = TestCluster::new().worker("alpha", 3, []);
    let mut story = SummaryCluster::new(cluster, RunOptions::default(), |plan| {
        let ignored = StepSpec { on_failure: OnFailure::Ignore, ..StepSpec::default() };
        plan.step("lint", ignored, []);
        plan.plains(["bad", "slow"]);
        plan.plain("after", ["bad"]);
        plan.plain("later", ["after"]);
        plan.plain("other", ["slow"]);
        let always = StepSpec { condition: StatusCondition::Always, ..StepSpec::default() };
        plan.step("tell", always, ["later"]);
    });
    story.after(1).finish("lint", Outcome::exit(1));
    story.after(1).finish("bad", Outcome::exit(137));
    story.finish("slow", Outcome::plain(OutcomeKind::Cancelled)).succeed("tell");
    let summary = story.summary();
    let causes: Vec<(&str, u32, u32, bool)> = summary
        .root_causes()
        .iter()
        .map(|it| (summary.plan().name(it.step), it.blocked, it.cancelled, it.ignored))
        .collect();
    assert_eq!(causes, [("bad", 2, 2, false), ("lint", 0, 0, true)]);
    let reason = |name: &str| {
        let step = summary.plan().find(name).and_then(|step| summary.step(step));
        step.and_then(|step| step.reason()).unwrap_or_default()
    };
    assert_eq!(reason("bad"), "exit 137, SIGKILL");
    assert_eq!(reason("slow"), "stopped because another step failed");
    assert_eq!(reason("later"), "because of bad");
    assert_eq!(reason("other"), "because bad failed");
    assert_eq!(story.verdict(), RunVerdict::StepFailed);
}

#[test]
fn summary_shows_a_lost_worker_and_a_takeover() {
    let cluster = TestCluster::new().worker("alpha", 1, []).worker("beta", 1, []);
    let mut story =
        SummaryCluster::new(cluster, RunOptions::default(), |plan| plan.plain("only", []));
    let holder = story.cluster.holder("only").expect("a worker holds it");
    story.cluster.kill(&holder);
    story.cluster.guard_ended(&holder);
    story.fold();
    story.cluster.take_over();
    story.after(1).after(6).succeed("only");
    let summary = story.summary();
    assert_eq!((summary.interruptions(), summary.workers_met_count()), (1, 2));
    let tries = summary.step(StepIx(0)).unwrap().deliveries();
    let attempts: Vec<_> = tries.iter().map(|it| (it.attempt, it.delivery, it.outcome)).collect();
    assert_eq!(attempts, [(1, 1, Some(OutcomeKind::Lost)), (1, 2, Some(OutcomeKind::Succeeded))]);
    assert_eq!(summary.to_json(story.cluster.now)["interruptions"], 1);
}

/// Leader and worker end together and start again after an hour, as on one machine.
#[test]
fn leaderless_hour_counts_as_neither_run_time_nor_wait() {
    let cluster = TestCluster::new().worker("alpha", 1, []);
    let mut story = SummaryCluster::new(cluster, RunOptions::default(), |plan| {
        plan.plain("first", []);
        plan.plain("second", []);
        plan.plain("last", ["first", "second"]);
    });
    story.after(5).succeed("first");
    story.cluster.kill("alpha");
    story.cluster.sleep(Span::hours(1));
    story.cluster.take_over();
    story.fold();
    story.cluster.restart("alpha");
    story.cluster.exchange("alpha");
    story.fold();
    story.after(10).succeed("second").after(1).succeed("last");
    insta::assert_snapshot!(story.text(), @r"
    first succeeded [1.1@alpha] wait 0s time 5s
    second succeeded [1.1@alpha 1.2@alpha] wait 5s time 10s
    last succeeded [1.1@alpha] wait 0s time 1s
    ");
    let (summary, now) = (story.summary(), story.cluster.now);
    assert_eq!((summary.interruptions(), summary.interrupted_time()), (1, Span::hours(1)));
    assert_eq!(summary.led_time(now), Span::secs(16));
    assert_eq!(summary.wall_time(now), Span::hours(1) + Span::secs(16));
    assert_eq!(summary.critical_path().percent, 68);
}

#[test]
fn cancelled_run_names_the_canceller_and_its_steps_the_reason() {
    let cluster = TestCluster::new().worker("alpha", 1, []);
    let mut story = SummaryCluster::new(cluster, RunOptions::default(), |plan| plan.chain("s", 2));
    let run = story.cluster.run_id("ship");
    let (level, reason) = (CancelLevel::Stop, CancelReason::Asked);
    story.cluster.ask(EngineRequest::Cancel { run, level });
    story.fold();
    assert_eq!(story.summary().status(), RunStatus::Cancelling);
    assert_eq!(story.verdict(), RunVerdict::Interrupted, "its end is not known yet");
    story.finish("s0", Outcome::plain(OutcomeKind::Cancelled));
    let summary = story.summary();
    assert_eq!(summary.cancel(), Some((level, reason)));
    let last = summary.step(StepIx(0)).and_then(|step| step.last_delivery()).unwrap();
    assert_eq!(last.stop, Some(StopReason::RunCancelled));
    assert_eq!(story.verdict(), RunVerdict::Cancelled);
    let request = VerdictRequest { named: &[], interrupted: true };
    assert_eq!(summary.verdict(request), RunVerdict::Interrupted);
}

#[test]
fn run_that_only_lacks_workers_is_distinguished_from_a_failed_one() {
    let options = RunOptions { unplaceable: UnplaceablePolicy::Fail, ..RunOptions::default() };
    let cluster = TestCluster::new().worker("alpha", 1, ["linux"]);
    let mut story = SummaryCluster::new(cluster, options, |plan| {
        plan.step("gpu", needing("gpu"), []);
        plan.plain("after", ["gpu"]);
    });
    story.after(1);
    assert_eq!(story.verdict(), RunVerdict::NoMatchingWorker);
    insta::assert_snapshot!(story.text(), @r"
    gpu failed [] wait 0s time 0s needs gpu, which no worker here has
    after blocked [] wait 0s time 0s because of gpu
    ");
}

#[test]
fn json_has_one_object_per_line() {
    let cluster = TestCluster::new().worker("alpha", 1, []);
    let mut story = SummaryCluster::new(cluster, RunOptions::default(), |plan| plan.chain("s", 2));
    story.after(2).finish("s0", Outcome::exit(3));
    let (summary, now) = (story.summary(), story.cluster.now);
    let mut lines = vec![summary.to_json(now)];
    lines.extend(summary.steps().map(|step| step.to_json(now)));
    lines[0]["fingerprint"] = "…".into();
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"counts":{"blocked":1,"failed":1},"created_at":"1970-01-01T00:20:00.000Z","ended_at":"1970-01-01T00:20:02.000Z","fingerprint":"…","id":"1","interrupted_ms":0,"interruptions":0,"pipeline":"ship","root_causes":[{"blocked":1,"cancelled":0,"ignored":false,"name":"s0","reason":"exit 3","step":0}],"status":"failed","steps":2,"wall_ms":2000,"workers":[{"attempts":1,"busy_ms":2000,"use_percent":100,"worker":"alpha"}]}
    {"attempts":[{"attempt":1,"delivery":1,"ended_at":"1970-01-01T00:20:02.000Z","exit_code":3,"fence":1,"granted_at":"1970-01-01T00:20:00.000Z","outcome":"failed","started_at":"1970-01-01T00:20:00.000Z","time_ms":2000,"worker":"alpha"}],"ended_at":"1970-01-01T00:20:02.000Z","name":"s0","needs":[],"outputs":null,"ready_at":"1970-01-01T00:20:00.000Z","reason":"exit 3","run":"1","status":"failed","step":0,"time_ms":2000,"wait_ms":0}
    {"attempts":[],"ended_at":"1970-01-01T00:20:02.000Z","name":"s1","needs":["s0"],"outputs":null,"ready_at":"1970-01-01T00:20:02.000Z","reason":"because of s0","run":"1","status":"blocked","step":1,"time_ms":0,"wait_ms":0}
    "#);
}

fn durations<const N: usize>(of: [(&str, u64); N]) -> StepDurations {
    of.into_iter().map(|(name, secs)| (name.into(), Span::secs(secs))).collect::<BTreeMap<_, _>>()
}

#[test]
fn remaining_time_is_estimated_from_earlier_runs_and_slots() {
    let cluster = TestCluster::new().worker("alpha", 2, []);
    let mut story = SummaryCluster::new(cluster, RunOptions::default(), |plan| {
        plan.plains(["a", "b", "c"]);
        plan.plain("last", ["a", "b", "c"]);
    });
    let plan = Arc::clone(story.summary().plan());
    let earlier = durations([("a", 10), ("b", 20), ("c", 30), ("last", 5)]);
    let forecast = RunForecast::new(&plan, &earlier);
    let rest = |story: &SummaryCluster, slots| {
        forecast.remaining(story.summary(), story.cluster.now, slots)
    };
    // Two of them run and the third is leased ahead: it follows the shorter one.
    assert_eq!(rest(&story, 2), Some(Span::secs(45)));
    story.after(4);
    assert_eq!(rest(&story, 2), Some(Span::secs(41)));
    story.after(6).succeed("a");
    assert_eq!(rest(&story, 2), Some(Span::secs(35)));
    let nothing = RunForecast::new(&plan, &StepDurations::new());
    assert_eq!(
        nothing.remaining(story.summary(), story.cluster.now, 2),
        None,
        "one end is not enough for an estimate"
    );
}

#[test]
fn hundred_thousand_steps_are_summarized_in_time() {
    let mut plan = PlanBuilder::new("huge");
    let cells = (0..100_000).map(|cell| (format!("c{cell}"), 0));
    let join = plan.matrix_of("cell", "true", vec![StepSpec::default()], cells);
    let last = plan.step("last", StepSpec::default());
    plan.needs(last, join);
    let plan = Arc::new(plan.build().unwrap());
    let mut summary = RunSummary::new(Time::from_millis(1), RunId(1), plan, RunOptions::default());
    let forecast = RunForecast::new(summary.plan(), &durations([("cell[c1]", 1)]));
    let rest = forecast.remaining(&summary, Time::from_millis(2), 100);
    assert_eq!(rest, Some(Span::millis(1_000_010)));
    for step in 0..100_000 {
        let settled = windlass_core::engine::StepSettlement::SkippedUnplaceable;
        let event =
            Event::StepSettled(event::StepSettled { run: RunId(1), step: StepIx(step), settled });
        summary.apply_event(Time::from_millis(2), &event);
    }
    assert_eq!(summary.status_counts().of(StepStatus::Skipped), 100_000);
    assert_eq!(
        summary.status_counts().of(StepStatus::Ready),
        1,
        "the join has let the last step go"
    );
    assert_eq!(summary.unplaceable().count(), 100_000);
    assert_eq!(summary.critical_path().links, []);
}

#[test]
fn shares_are_the_busy_part_of_each_workers_presence() {
    let cluster = TestCluster::new().worker("ann", 1, []);
    let mut story = SummaryCluster::new(cluster, RunOptions::default(), |plan| {
        for name in ["a", "b", "c"] {
            plan.step(name, StepSpec::default(), []);
        }
    });
    story.after(2).succeed("a");
    let now = story.cluster.now;
    let [ann] = story.summary().worker_shares(now)[..] else { panic!("one worker") };
    assert_eq!((ann.worker, ann.busy, ann.percent), ("ann", Span::secs(2), Some(100)));
    story.cluster.join("ben", 2, []);
    story.fold();
    story.after(4).succeed("b").succeed("c");
    let now = story.cluster.now;
    let shares = story.summary().worker_shares(now);
    let shares: Vec<_> =
        shares.iter().map(|it| (it.worker, it.deliveries, it.busy, it.percent)).collect();
    let expected = [("ann", 2, Span::secs(6), Some(100)), ("ben", 1, Span::secs(4), Some(50))];
    assert_eq!(shares, expected);
}
