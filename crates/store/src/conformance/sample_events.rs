//! At least one event of each kind, with every field in use, to check that a journal preserves events.

use std::sync::Arc;

use windlass_core::access::{
    AccessScope, AuditAction, AuditSubject, NewToken, Principal, SecretDigest,
};
use windlass_core::engine::{
    AncestorStep, CancelLevel, CancelReason, Event, LeaseEndKind, ParentStep, ProvenTime,
    ReusedOutcome, RunOptions, RunOwner, RunProgress, StepBlocker, StepFollowUp, StepProgress,
    StepSettlement, UnplaceablePolicy, event,
};
use windlass_core::id::{Fence, Incarnation, RunId, Seq, StepIx, Term, TokenId, WorkerId};
use windlass_core::idempotency::IdempotencyOrigin;
use windlass_core::large_value::{LargeValueLocation, LargeValueRef};
use windlass_core::object::ObjectId;
use windlass_core::outcome::{Outcome, OutcomeKind, RunStatus, StepOutput, StepStatus};
use windlass_core::plan::{
    IdempotencySpec, LockOrder, LockUse, OnFailure, OnLostContact, PinTarget, Placement, Plan,
    PlanBuilder, RetryOn, RetryPolicy, StatusCondition, StepSpec, ValueCondition,
};
use windlass_core::requirement::{
    AmountComparison, Labels, Requirement, RequirementAtom, RequirementClause, WorkerScope,
};
use windlass_core::session::{StopReason, WorkerLocality};
use windlass_core::time::{Span, Time};

const RUN: RunId = RunId::new(1_790_000_000_000, 5);
const STEP: StepIx = StepIx(u32::MAX);
const FENCE: Fence = Fence::new(u16::MAX, 12);
const WORKER: WorkerId = WorkerId(u64::MAX);

/// The number of event kinds.
pub const EVENT_KINDS: usize = 32;

/// Returns the name of an event's kind. A new kind fails to compile here first; then add a sample, use it in the sample
/// history and write the golden journal again.
pub const fn event_kind(event: &Event) -> &'static str {
    match event {
        Event::Led(_) => "Led",
        Event::WorkerRegistered(_) => "WorkerRegistered",
        Event::WorkerLost(_) => "WorkerLost",
        Event::WorkerReturned(_) => "WorkerReturned",
        Event::WorkerDrained(_) => "WorkerDrained",
        Event::WorkerEnded(_) => "WorkerEnded",
        Event::WorkerForgotten(_) => "WorkerForgotten",
        Event::Braked(_) => "Braked",
        Event::RunSubmitted(_) => "RunSubmitted",
        Event::RunCancelled(_) => "RunCancelled",
        Event::RunEnded(_) => "RunEnded",
        Event::RunSealed(_) => "RunSealed",
        Event::RunInterrupted(_) => "RunInterrupted",
        Event::RunResumed(_) => "RunResumed",
        Event::Granted(_) => "Granted",
        Event::Confirmed(_) => "Confirmed",
        Event::Started(_) => "Started",
        Event::StopOrdered(_) => "StopOrdered",
        Event::LeaseEnded(_) => "Ended",
        Event::BackoffEnded(_) => "BackoffEnded",
        Event::ConditionHeld(_) => "ConditionHeld",
        Event::StepSettled(_) => "StepSettled",
        Event::LateOutcome(_) => "LateOutcome",
        Event::LockForced(_) => "LockForced",
        Event::WorkerEnrolled(_) => "WorkerEnrolled",
        Event::WorkerRevoked(_) => "WorkerRevoked",
        Event::TokenCreated(_) => "TokenCreated",
        Event::TokenRevoked(_) => "TokenRevoked",
        Event::Acted(_) => "Acted",
        Event::KeyTaken(_) => "KeyTaken",
        Event::KeyAwaited(_) => "KeyAwaited",
        Event::KeyRecalled(_) => "KeyRecalled",
    }
}

/// Events of every kind, at times that jump forward and back: a journal stores times unchanged.
pub fn sample_events() -> Vec<(Time, Event)> {
    const TIMES: [u64; 5] = [0, 1_790_000_000_000, 1_790_000_000_001, u64::MAX, 1];
    let groups = [
        workers(),
        runs(),
        leases(),
        endings(),
        given_up_leases(),
        settlements(),
        access(),
        acts(),
        keys(),
    ];
    let times = TIMES.into_iter().cycle().map(Time::from_millis);
    let events = groups.into_iter().flatten().zip(times);
    events.map(|(event, at)| (at, event)).collect()
}

fn workers() -> Vec<Event> {
    let worker = WORKER;
    let led = |generation, own, embargo| {
        Event::Led(event::Led {
            term: Term(3),
            ttl: Span::secs(15),
            generation,
            own,
            embargo,
            proven: ProvenTime { passed: Span::secs(4), led: Span::millis(generation.into()) },
        })
    };
    let registered = |locality, scope, labels| {
        Event::WorkerRegistered(event::WorkerRegistered {
            worker,
            name: "Werkbank 1 – ü".into(),
            incarnation: Incarnation(2),
            labels,
            slots: 10_000,
            locality,
            scope,
        })
    };
    vec![
        led(0, None, None),
        led(u16::MAX, Some(worker), Some(Time::from_millis(u64::MAX))),
        registered(
            WorkerLocality::Apart,
            WorkerScope::AllRuns,
            Labels::new(["Docker", "os=linux", "cpu=8"]),
        ),
        registered(WorkerLocality::SharedFate, WorkerScope::PinnedOnly, Labels::default()),
        registered(WorkerLocality::SameHost, WorkerScope::OwnRuns, Labels::default()),
        Event::WorkerLost(event::WorkerLost { worker }),
        Event::WorkerReturned(event::WorkerReturned { worker }),
        Event::WorkerDrained(event::WorkerDrained { worker }),
        Event::WorkerEnded(event::WorkerEnded { worker, incarnation: Incarnation(u64::MAX) }),
        Event::WorkerForgotten(event::WorkerForgotten { worker }),
        Event::Braked(event::Braked { late: 7, of: u32::MAX }),
    ]
}

fn runs() -> Vec<Event> {
    let run = RUN;
    let reused = |step, output| ReusedOutcome { step: StepIx(step), from: RunId(1), output };
    let options = RunOptions {
        root: Some(RunId(1)),
        keep_going: true,
        unplaceable: UnplaceablePolicy::Skip,
        timeout: Some(Span::hours(2)),
        owner: Some(RunOwner { worker: WORKER, incarnation: Incarnation(3), shares: true }),
        parent: Some(ParentStep { run: RunId(3), step: STEP }),
    };
    let reused = vec![
        reused(0, StepOutput::NONE),
        reused(1, StepOutput::inline("{\"version\":\"1.2\"}")),
        reused(2, with_files(StepOutput::NONE)),
    ];
    let cancelled = |level, reason| Event::RunCancelled(event::RunCancelled { run, level, reason });
    let ended = |status| Event::RunEnded(event::RunEnded { run, status });
    let plain = RunOptions { unplaceable: UnplaceablePolicy::Fail, ..RunOptions::default() };
    vec![
        Event::RunSubmitted(event::RunSubmitted { run, plan: plan(), options, reused }),
        Event::RunSubmitted(event::RunSubmitted {
            run,
            plan: plan(),
            options: plain,
            reused: Vec::new(),
        }),
        cancelled(CancelLevel::Stop, CancelReason::Asked),
        cancelled(CancelLevel::Kill, CancelReason::Deadline),
        cancelled(CancelLevel::Kill, CancelReason::Condemned),
        ended(RunStatus::Succeeded),
        ended(RunStatus::Failed),
        ended(RunStatus::Cancelled),
        Event::RunInterrupted(event::RunInterrupted { run }),
        Event::RunResumed(event::RunResumed {
            run,
            plan: plan(),
            options: plain,
            progress: progress(),
        }),
        Event::RunSealed(event::RunSealed { run }),
    ]
}

fn progress() -> RunProgress {
    let step = |status, blocker, output| StepProgress {
        status,
        blocker,
        attempt: u16::MAX,
        delivery: u16::MAX,
        losses: u16::MAX,
        fence: FENCE,
        backoff: Span::millis(u64::MAX),
        output,
        ..StepProgress::fresh(STEP)
    };
    let text = StepOutput::inline("{\"version\":\"1.2\"}");
    RunProgress {
        submitted_at: Time::from_millis(u64::MAX),
        interrupted_at: Time::from_millis(u64::MAX),
        failed: Some(STEP),
        superseded: true,
        steps: vec![
            step(StepStatus::Succeeded, None, text),
            step(StepStatus::Waiting, None, StepOutput::NONE),
            step(StepStatus::Blocked, Some(StepBlocker::Failure(STEP)), StepOutput::NONE),
            step(StepStatus::Blocked, Some(StepBlocker::NeedCouldNotRun(STEP)), StepOutput::NONE),
            step(StepStatus::Skipped, Some(StepBlocker::Unplaceable), StepOutput::NONE),
        ],
    }
}

fn access() -> Vec<Event> {
    let (worker, id) = (WORKER, TokenId(u64::MAX));
    let token = |scopes: &[AccessScope], expires| NewToken {
        name: "Bahnhof – ü".into(),
        scopes: scopes.iter().copied().collect(),
        digest: SecretDigest::new([0x5a; 32]),
        expires,
    };
    let (by, digest) = (Principal::TokenFile, SecretDigest::new([1; 32]));
    vec![
        Event::WorkerEnrolled(event::WorkerEnrolled { worker, digest, by }),
        Event::WorkerRevoked(event::WorkerRevoked { worker }),
        Event::TokenCreated(event::TokenCreated {
            id,
            token: token(&AccessScope::ALL, Some(Time::from_millis(u64::MAX))),
        }),
        Event::TokenCreated(event::TokenCreated {
            id: TokenId(1),
            token: token(&[AccessScope::Read], None),
        }),
        Event::TokenRevoked(event::TokenRevoked { id }),
    ]
}

fn acts() -> Vec<Event> {
    let by_token = || Principal::Token { id: TokenId(7), name: "ci".into() };
    let worker = || AuditSubject::Worker { id: WORKER, name: "build-7".into() };
    let token = || AuditSubject::Token { id: TokenId(2), name: "ci".into() };
    let lock = AuditSubject::Lock { name: "ship/production".into(), fence: FENCE };
    let acted = |by, act, about| Event::Acted(event::Acted { by, act, about });
    vec![
        acted(Principal::Local, AuditAction::Submit, AuditSubject::Run(RUN)),
        acted(Principal::Local, AuditAction::Resume, AuditSubject::Run(RUN)),
        acted(Principal::TokenFile, AuditAction::Cancel, AuditSubject::Run(RUN)),
        acted(Principal::Worker { id: WORKER }, AuditAction::Join, worker()),
        acted(by_token(), AuditAction::Drain, worker()),
        acted(by_token(), AuditAction::RevokeWorker, worker()),
        acted(by_token(), AuditAction::ForceRelease, lock),
        acted(by_token(), AuditAction::CreateToken, token()),
        acted(by_token(), AuditAction::RevokeToken, token()),
    ]
}

fn keys() -> Vec<Event> {
    let (run, step) = (RUN, STEP);
    let key = || "ship/v1.2 – ü".into();
    let origin = IdempotencyOrigin {
        run: RunId(u64::MAX),
        step: StepIx(7),
        name: "deploy[linux]".into(),
        at: Time::from_millis(1_790_000_000_000),
    };
    let recalled = |output| {
        let origin = origin.clone();
        Event::KeyRecalled(event::KeyRecalled { run, step, key: key(), origin, output })
    };
    let mut plan = PlanBuilder::new("once");
    let keyed = |when, again| {
        let key = "./${{ steps.a.outputs.b }}".into();
        StepSpec { when, idempotency: Some(IdempotencySpec { key, again }), ..StepSpec::default() }
    };
    plan.step("a", keyed(ValueCondition::Holds, true));
    plan.step("b", keyed(ValueCondition::Asks("steps.a.outputs.c".into()), false));
    let plan = Arc::new(plan.build().expect("the plan has no mistakes"));
    let (options, reused) = (RunOptions::default(), Vec::new());
    vec![
        Event::RunSubmitted(event::RunSubmitted { run, plan, options, reused }),
        Event::KeyTaken(event::KeyTaken { run, step, key: key() }),
        Event::KeyAwaited(event::KeyAwaited { run, step, key: key(), by: RunId(1) }),
        recalled(StepOutput::NONE),
        recalled(StepOutput::inline("{\"url\":\"x\"}")),
        Event::StepSettled(event::StepSettled {
            run,
            step,
            settled: StepSettlement::FailedKey { why: "null".into() },
        }),
        Event::StepSettled(event::StepSettled {
            run,
            step,
            settled: StepSettlement::FailedNoKey { by: RunId(1) },
        }),
        Event::StepSettled(event::StepSettled {
            run,
            step,
            settled: StepSettlement::FailedAncestorKey { key: key(), holder: holder() },
        }),
        Event::StepSettled(event::StepSettled {
            run,
            step,
            settled: StepSettlement::FailedAncestorLock { lock: key(), holder: holder() },
        }),
    ]
}

fn holder() -> AncestorStep {
    AncestorStep { run: RunId(u64::MAX), step: STEP, name: "Auslieferung – ü".into() }
}

fn leases() -> Vec<Event> {
    let (run, step, fence) = (RUN, STEP, FENCE);
    let why = [
        StopReason::RunCancelled,
        StopReason::FailFast,
        StopReason::Superseded,
        StopReason::Overdue,
        StopReason::Stale,
    ];
    let granted = Event::Granted(event::Granted {
        run,
        step,
        attempt: u16::MAX,
        delivery: 2,
        worker: WORKER,
        fence,
        seq: Seq(u64::MAX),
        expires: Some(Time::from_millis(u64::MAX)),
    });
    let mut events = vec![
        granted,
        Event::Confirmed(event::Confirmed { run, step, fence }),
        Event::Started(event::Started { run, step, fence }),
        Event::BackoffEnded(event::BackoffEnded { run, step }),
        Event::ConditionHeld(event::ConditionHeld { run, step }),
        Event::LockForced(event::LockForced { lock: "ship/production".into(), fence }),
    ];
    events.extend(why.map(|why| Event::StopOrdered(event::StopOrdered { run, step, fence, why })));
    events
}

/// Adds a manifest of artifacts to an output.
fn with_files(output: StepOutput) -> StepOutput {
    StepOutput { artifacts: Some(ObjectId::of(b"manifest")), ..output }
}

fn endings() -> Vec<Event> {
    let (run, step, fence) = (RUN, STEP, FENCE);
    let at = Time::from_millis(1_790_000_001_000);
    let with_output = |output| Outcome { output, ..Outcome::exit(0) };
    let ended = |outcome, next, ended| {
        Event::LeaseEnded(event::LeaseEnded { run, step, fence, outcome, next, ended })
    };
    let reported = |outcome, next| ended(outcome, next, LeaseEndKind::Reported);
    let done = StepFollowUp::Done;
    let kept = |location| {
        let (attempt, delivery) = (u16::MAX, 1);
        StepOutput::kept(LargeValueRef { run, step, attempt, delivery, location })
    };
    let with_leader = LargeValueLocation::Leader { hash: [9; 32], size: 1 << 24 };
    vec![
        reported(with_output(StepOutput::inline("ü".repeat(1000))), done(StepStatus::Succeeded)),
        reported(with_output(with_files(StepOutput::NONE)), done(StepStatus::Succeeded)),
        reported(with_output(kept(with_leader)), done(StepStatus::Succeeded)),
        reported(
            with_output(kept(LargeValueLocation::Worker { name: "leader".into() })),
            done(StepStatus::Succeeded),
        ),
        reported(Outcome::exit(-1), done(StepStatus::Failed)),
        ended(
            Outcome::exit(0),
            done(StepStatus::Succeeded),
            LeaseEndKind::Ran(Span::millis(1 << 40)),
        ),
        ended(
            Outcome::exit(0),
            done(StepStatus::Succeeded),
            LeaseEndKind::Late { ran: Some(Span::millis(1 << 40)) },
        ),
        ended(
            Outcome::exit(1),
            StepFollowUp::Retry { at, avoid: None },
            LeaseEndKind::Late { ran: None },
        ),
        reported(Outcome::plain(OutcomeKind::TimedOut), done(StepStatus::TimedOut)),
        reported(Outcome::plain(OutcomeKind::Cancelled), done(StepStatus::Cancelled)),
        reported(Outcome::exit(75), StepFollowUp::Retry { at, avoid: Some(WORKER) }),
        reported(Outcome::exit(i32::MIN), StepFollowUp::Retry { at, avoid: None }),
    ]
}

/// Returns events of released leases, and of an outcome that came too late.
fn given_up_leases() -> Vec<Event> {
    let (run, step, fence) = (RUN, STEP, FENCE);
    let given_up = |kind, charged| {
        let (outcome, next) = (Outcome::plain(kind), StepFollowUp::Again { charged });
        let ended = LeaseEndKind::GivenUp;
        Event::LeaseEnded(event::LeaseEnded { run, step, fence, outcome, next, ended })
    };
    vec![
        given_up(OutcomeKind::Lost, true),
        given_up(OutcomeKind::Released, false),
        Event::LateOutcome(event::LateOutcome { run, step, fence, outcome: Outcome::exit(0) }),
    ]
}

fn settlements() -> Vec<Event> {
    let cause = StepIx(3);
    let settled = [
        StepSettlement::SkippedByCondition,
        StepSettlement::SkippedByValues { why: "params.a == 1  (params.a = 2)".into() },
        StepSettlement::FailedCondition { why: "neither true nor false".into() },
        StepSettlement::SkippedUnplaceable,
        StepSettlement::Blocked { cause },
        StepSettlement::Withheld { cause },
        StepSettlement::CancelledWithRun,
        StepSettlement::CancelledByFailure { cause },
        StepSettlement::Superseded { by: RunId(u64::MAX) },
        StepSettlement::FailedNoWorker,
        StepSettlement::FailedNoLock,
        StepSettlement::FailedTooLarge { bytes: u64::MAX },
    ];
    settled
        .map(|settled| Event::StepSettled(event::StepSettled { run: RUN, step: STEP, settled }))
        .into()
}

/// Returns a plan with a value in every field of a spec.
fn plan() -> Arc<Plan> {
    let mut plan = PlanBuilder::new("ship");
    let lint = plan.step_with("lint", StepSpec::default(), "{\"run\":\"cargo clippy\"}");
    let cells = ["stable", "beta"].map(|cell| (cell.to_owned(), particular()));
    let test = plan.matrix("test", cells);
    plan.needs(test, lint);
    let deploy = plan.step("deploy", locking());
    plan.needs(deploy, test);
    let tell = StepSpec { condition: StatusCondition::Failure, ..StepSpec::default() };
    let tell = plan.step("tell", tell);
    plan.needs_optional(tell, deploy);
    plan.lock_slots("database", 3);
    Arc::new(plan.build().expect("the plan has no mistakes"))
}

fn particular() -> StepSpec {
    let number = |compare, n| RequirementAtom::Number("cpu".into(), compare, n);
    let clauses = vec![
        RequirementClause(vec![RequirementAtom::has("docker"), RequirementAtom::has("podman")]),
        RequirementClause(vec![RequirementAtom::lacks("spot")]),
        RequirementClause(vec![
            number(AmountComparison::Less, 64),
            number(AmountComparison::AtMost, 64),
        ]),
        RequirementClause(vec![
            number(AmountComparison::Greater, 3),
            number(AmountComparison::AtLeast, 4),
        ]),
    ];
    let on = vec![RetryOn::Exit(-1), RetryOn::Failed, RetryOn::TimedOut];
    StepSpec {
        placement: Placement {
            requirement: Requirement(clauses),
            preferences: vec![RequirementClause(vec![RequirementAtom::has("ssd")])],
            pin: PinTarget::Leader,
            allow: vec!["alpha".into(), "beta".into()],
            deny: vec!["gamma".into()],
        },
        locks: Vec::new(),
        retry: RetryPolicy {
            times: 3,
            wait_min: Span::millis(1),
            wait_max: Span::hours(1),
            on,
            elsewhere: true,
            lost: 0,
        },
        timeout: Some(Span::mins(30)),
        kill_grace: Span::ZERO,
        priority: i32::MIN,
        condition: StatusCondition::Always,
        when: ValueCondition::Asks("steps.a.outputs.b == 1".into()),
        idempotency: None,
        reads: vec![StepIx(0)],
        on_failure: OnFailure::Ignore,
        per_worker: Some(2),
        wait_for_worker: Span::hours(1),
        wait_for_lock: Span::mins(1),
        on_lost_contact: OnLostContact::Stop,
        carries_files: true,
    }
}

fn locking() -> StepSpec {
    let lock = |name: &str, order| LockUse { name: name.into(), order };
    let locks = vec![
        lock("database", LockOrder::Fifo),
        lock("./staging", LockOrder::NewestFirst),
        lock("production", LockOrder::CancelOlder),
    ];
    StepSpec { locks, priority: 7, ..StepSpec::default() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_has_a_specimen() {
        let found: BTreeSet<_> =
            sample_events().iter().map(|(_, event)| event_kind(event)).collect();
        assert_eq!(found.len(), EVENT_KINDS);
    }
}
