//! Reports: what tables, API and command line are told of the state.

use windlass_core::engine::{Answer, CancelLevel, Engine, Event, Request, StepReport};
use windlass_core::id::{Fence, RunId, StepIx};
use windlass_core::outcome::{Outcome, OutcomeKind, Output, StepStatus};
use windlass_core::plan::StepSpec;
use windlass_core::time::{Span, Time};

use crate::crew::Crew;

/// Everything that is reported, one thing a line.
fn reports(engine: &Engine) -> String {
    let mut lines = vec![format!("{:?}", engine.leader().expect("somebody leads"))];
    lines.extend(engine.workers().map(|worker| format!("{worker:?}")));
    lines.extend(engine.leases().map(|lease| format!("{lease:?}")));
    lines.extend(engine.locks().map(|lock| format!("{lock:?}")));
    for run in engine.runs() {
        let counts = run.counts();
        let counts: Vec<_> = counts.iter().filter(|(_, count)| *count > 0).collect();
        lines.push(format!("{} {} {} {counts:?}", run.id, run.pipeline(), run.status));
        lines.extend(run.steps(StepIx(0)).map(|step| step_line(&step)));
    }
    lines.join("\n")
}

fn step_line(report: &StepReport<'_>) -> String {
    let StepReport { step, status, attempt, delivery, fence, cause, .. } = report;
    let join = if report.is_join() { " (join)" } else { "" };
    let (name, tried) = (report.name(), (attempt, delivery));
    format!("  {step} {name}{join} {status} {tried:?} {fence:?} {cause:?}")
}

#[test]
fn reports_tell_who_does_what() {
    let mut crew = Crew::new().worker("alpha", 2, ["linux"]);
    crew.submit("ship", |plan| {
        plan.plain("lint", []);
        plan.step("deploy", StepSpec::locking(["prod"]), []);
        plan.matrix("test", ["a", "b"], |_| StepSpec::default());
        plan.plain("tell", ["lint"]);
    });
    crew.pass(Span::secs(1));
    crew.finish("alpha", "lint", Outcome::exit(1));
    insta::assert_snapshot!(reports(&crew.engine), @r#"
    LeaderReport { term: t1, since: Time(1200.000), ttl: 15s, own: Some(w100) }
    WorkerReport { id: w1, name: "alpha", incarnation: i1, status: Online, labels: Labels(["linux"]), slots: 2, leases: 2, since: Time(1200.000) }
    LeaseReport { fence: f2, run: run 1, step: #2, name: "test[a]", attempt: 1, delivery: 1, worker: w1, granted_at: Time(1200.000), started_at: Some(Time(1200.000)), stop: Some(StopReport { how: "term", why: "fail_fast" }), locks: [] }
    LeaseReport { fence: f3, run: run 1, step: #3, name: "test[b]", attempt: 1, delivery: 1, worker: w1, granted_at: Time(1200.000), started_at: Some(Time(1201.000)), stop: Some(StopReport { how: "term", why: "fail_fast" }), locks: [] }
    LockReport { name: "prod", slots: 1, holders: [] }
    1 ship running [(Running, 2), (Failed, 1), (Cancelled, 1), (Blocked, 1)]
      #0 lint failed (1, 1) Some(f1) None
      #1 deploy cancelled (1, 0) None Some(#0)
      #2 test[a] running (1, 1) Some(f2) None
      #3 test[b] running (1, 1) Some(f3) None
      #4 test (join) waiting (1, 0) None None
      #5 tell blocked (1, 0) None Some(#0)
    "#);
}

#[test]
fn a_replica_reports_the_same() {
    let mut crew = Crew::new().worker("alpha", 2, []);
    crew.submit("ship", |plan| plan.plains(["a", "b", "c"]));
    crew.succeed(["a"]);
    let before = reports(&crew.engine);
    // The new leader has folded the journal and nothing else; its first event is its own.
    crew.take_over();
    let without_leader = |text: &str| text.split_once('\n').unwrap().1.to_owned();
    assert_eq!(without_leader(&reports(&crew.engine)), without_leader(&before));
}

#[test]
fn steps_are_read_page_by_page_and_counted_as_they_stand() {
    let mut crew = Crew::new();
    crew.submit("ship", |plan| plan.chain("step", 5));
    let run = crew.engine.run(crew.run_id("ship")).unwrap();
    let names: Vec<_> = run.steps(StepIx(3)).map(|step| step.name()).collect();
    assert_eq!(names, ["step3", "step4"]);
    assert_eq!(run.steps(StepIx(9)).count(), 0, "behind the last there is none");
    assert_eq!(run.counts().of(StepStatus::Waiting), 4);
    assert_eq!(run.counts().of(StepStatus::Ready), 1);
    assert!(crew.engine.run(RunId(99)).is_none());
}

#[test]
fn a_lock_that_was_taken_away_is_not_reported_as_held() {
    let mut crew = Crew::new().worker("alpha", 2, []);
    crew.submit("ship", |plan| plan.step("a", StepSpec::locking(["db"]), []));
    let fence = crew.fence("a");
    assert_eq!(crew.engine.leases().next().unwrap().locks, ["db"]);
    let forced = crew.ask(Request::ForceRelease { lock: "db".into(), fence });
    assert_eq!(forced, Answer::Done);
    assert_eq!(crew.engine.leases().next().unwrap().locks, [""; 0]);
}

#[test]
fn an_order_to_stop_is_reported_in_words() {
    let mut crew = Crew::new().worker("alpha", 2, []);
    crew.submit("ship", |plan| plan.plains(["a"]));
    let run = crew.run_id("ship");
    crew.ask(Request::Cancel { run, level: CancelLevel::Kill });
    let stop = crew.engine.leases().next().unwrap().stop.unwrap();
    assert_eq!((stop.how, stop.why), ("kill", "run_cancelled"));
}

#[test]
fn events_are_told_in_json_without_plan_and_output() {
    let mut crew = Crew::new().worker("alpha", 1, ["linux"]);
    crew.submit("ship", |plan| plan.plains(["a"]));
    let output = Output::Inline("{\"password\":\"hunter2\"}".into());
    crew.finish("alpha", "a", Outcome { output, ..Outcome::exit(0) });
    let at = Time::from_millis(1_790_000_000_123);
    let lines = crew.journal.iter().zip(1..).map(|(event, pos)| event.to_json(pos, at).to_string());
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
    {"at":"2026-09-21T14:13:20.123Z","data":{"generation":0,"own":"w100","term":1,"ttl_ms":15000},"pos":1,"type":"led","v":1}
    {"at":"2026-09-21T14:13:20.123Z","data":{"home":"apart","incarnation":1,"labels":["linux"],"name":"alpha","slots":1},"pos":2,"type":"worker_registered","v":1,"worker":"w1"}
    {"at":"2026-09-21T14:13:20.123Z","data":{"fingerprint":"d7d015b584f34845c4be02dffbe8af0b904bafabc68d91e351a53b9eead27b09","keep_going":false,"pipeline":"ship","reused":0,"root":null,"steps":1,"timeout_ms":null,"unplaceable":"wait"},"pos":3,"run":"1","type":"run_submitted","v":1}
    {"at":"2026-09-21T14:13:20.123Z","attempt":1,"data":{"seq":1},"delivery":1,"fence":1,"pos":4,"run":"1","step":0,"type":"granted","v":1,"worker":"w1"}
    {"at":"2026-09-21T14:13:20.123Z","data":{},"fence":1,"pos":5,"run":"1","step":0,"type":"started","v":1}
    {"at":"2026-09-21T14:13:20.123Z","data":{"exit_code":0,"next":{"done":"succeeded"},"outcome":"succeeded","output":{"bytes":22},"reported":true},"fence":1,"pos":6,"run":"1","step":0,"type":"ended","v":1}
    {"at":"2026-09-21T14:13:20.123Z","data":{"status":"succeeded"},"pos":7,"run":"1","type":"run_ended","v":1}
    "#);
}

#[test]
fn an_event_is_about_what_it_names() {
    let (run, step, fence) = (RunId(1), StepIx(2), Fence(3));
    let outcome = Outcome::plain(OutcomeKind::Lost);
    let late = Event::LateOutcome { run, step, fence, outcome };
    assert_eq!(late.about(), (Some(step), None, Some(fence)));
    assert_eq!(Event::RunSealed { run }.about(), (None, None, None));
}
