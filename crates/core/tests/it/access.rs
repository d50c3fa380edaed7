//! Authentication and the audit trail: tokens, worker credentials, and the authors of changes.

use windlass_core::access::{
    AUDIT_TRAIL_MAX, AccessScope, AccessScopes, NewToken, Principal, SecretDigest, TOKENS_MAX,
    TokenStatus,
};
use windlass_core::engine::{
    CancelLevel, EngineAnswer, EngineRequest, Event, RequestDenial, SubmitRun, WorkerStatus,
};
use windlass_core::id::{RunId, TokenId, WorkerId};
use windlass_core::outcome::StepStatus;
use windlass_core::plan::StepSpec;
use windlass_core::session::WorkerRefusal;
use windlass_core::time::{Span, Time};

use crate::plan_sketch::PlanSketch;
use crate::test_cluster::{TTL, TestCluster};

const BY: Principal = Principal::TokenFile;

fn digest(of: &str) -> SecretDigest {
    let mut hash = [0; 32];
    hash[..of.len()].copy_from_slice(of.as_bytes());
    SecretDigest::new(hash)
}

fn token(name: &str, expires: Option<Time>) -> NewToken {
    let scopes = AccessScopes::from_iter([AccessScope::Submit]);
    NewToken { name: name.into(), scopes, digest: digest(name), expires }
}

fn create(cluster: &mut TestCluster, token: NewToken) -> EngineAnswer {
    cluster.ask(EngineRequest::CreateToken(token).by(BY))
}

/// A worker of the cluster with a credential.
fn enrolled(name: &str) -> TestCluster {
    let mut cluster = TestCluster::new().worker(name, 1, []);
    let (register, digest) = (cluster.workers[name].register(), digest(name));
    let joined = cluster.ask(EngineRequest::Join { register, digest }.by(BY));
    assert!(matches!(joined, EngineAnswer::Registered(_)), "{joined:?}");
    cluster
}

#[test]
fn token_is_created_once_and_its_name_is_unique_while_it_is_valid() {
    let mut cluster = TestCluster::new();
    assert!(!cluster.engine.keys().requires_token());
    assert_eq!(create(&mut cluster, token("ci", None)), EngineAnswer::TokenCreated(TokenId(1)));
    assert_eq!(
        create(&mut cluster, token("ci", None)),
        EngineAnswer::TokenCreated(TokenId(1)),
        "the same"
    );
    let other = NewToken { digest: digest("other"), ..token("ci", None) };
    let taken = RequestDenial::TokenExists { name: "ci".into(), id: TokenId(1) };
    assert_eq!(create(&mut cluster, other.clone()), EngineAnswer::Denied(taken));
    let revoke = EngineRequest::RevokeToken { token: TokenId(1) };
    assert_eq!(cluster.ask(revoke.clone().by(BY)), EngineAnswer::Done);
    assert_eq!(cluster.ask(revoke.by(BY)), EngineAnswer::Done, "it is revoked already");
    assert_eq!(
        create(&mut cluster, other),
        EngineAnswer::TokenCreated(TokenId(2)),
        "the name is free"
    );
    let acts: Vec<String> =
        cluster.engine.acts().iter().map(|it| format!("{} {}", it.act, it.about)).collect();
    assert_eq!(
        acts,
        ["create_token token ci (k1)", "revoke_token token ci (k1)", "create_token token ci (k2)"],
        "what changed nothing is no act"
    );
    let standing = |name: &str| {
        cluster.engine.keys().token_by_digest(digest(name)).map(|it| it.status(cluster.now))
    };
    assert_eq!(standing("ci"), Some(TokenStatus::Revoked));
    assert_eq!(standing("other"), Some(TokenStatus::Valid));
    assert_eq!(standing("none"), None);
}

#[test]
fn expired_or_revoked_token_stays_invalid() {
    let mut cluster = TestCluster::new();
    let until = cluster.now + Span::secs(60);
    create(&mut cluster, token("ci", Some(until)));
    let standing = |cluster: &TestCluster| {
        cluster.engine.keys().token(TokenId(1)).unwrap().status(cluster.now)
    };
    assert_eq!(standing(&cluster), TokenStatus::Valid);
    cluster.pass(Span::secs(60));
    assert_eq!(standing(&cluster), TokenStatus::Expired);
    assert!(cluster.engine.keys().requires_token(), "the last token is over, and nothing is open");
    let none = NewToken { scopes: AccessScopes::default(), ..token("none", None) };
    assert_eq!(create(&mut cluster, none), EngineAnswer::Denied(RequestDenial::NoScope));
}

#[test]
fn number_of_tokens_is_bounded_and_expired_ones_are_evicted() {
    let mut cluster = TestCluster::new();
    for n in 0..TOKENS_MAX {
        create(&mut cluster, token(&format!("t{n}"), None));
    }
    let full = EngineAnswer::Denied(RequestDenial::TooManyTokens(TOKENS_MAX));
    assert_eq!(create(&mut cluster, token("more", None)), full);
    cluster.ask(EngineRequest::RevokeToken { token: TokenId(7) }.by(BY));
    assert_eq!(
        create(&mut cluster, token("more", None)),
        EngineAnswer::TokenCreated(TokenId(1_001))
    );
    assert_eq!(cluster.engine.keys().token(TokenId(7)), None);
    assert_eq!(cluster.engine.acts().len(), AUDIT_TRAIL_MAX);
}

#[test]
fn audit_entry_is_in_the_batch_of_its_change_and_in_the_history_of_its_run() {
    let mut cluster = TestCluster::new();
    let run = RunId(1);
    let plan = PlanSketch::draw("ship", |plan| plan.plains(["a"]));
    let decided =
        cluster.decide(EngineRequest::Submit(SubmitRun::new(run, plan)).by(Principal::Local));
    let kinds: Vec<_> = decided.events.iter().map(|event| (event.kind(), event.run())).collect();
    assert_eq!(kinds, [("run_submitted", Some(run)), ("acted", Some(run))]);
    let cancel = || EngineRequest::Cancel { run, level: CancelLevel::Stop }.by(Principal::Local);
    let kinds: Vec<_> = cluster.decide(cancel()).events.iter().map(Event::kind).collect();
    assert_eq!(kinds[..2], ["run_cancelled", "acted"]);
    let again = cluster.decide(cancel());
    assert_eq!(
        (again.answer, again.events.len()),
        (EngineAnswer::Denied(RequestDenial::RunEnded(run)), 0)
    );
}

#[test]
fn worker_is_enrolled_once_and_known_after_a_takeover() {
    let mut cluster = enrolled("alpha");
    let id = cluster.workers["alpha"].id;
    assert_eq!(cluster.engine.keys().worker(id).unwrap().by, BY);
    cluster.take_over();
    let register = cluster.workers["alpha"].next_incarnation().register();
    let join = EngineRequest::Join { register, digest: digest("alpha") };
    let decided = cluster.decide(join.by(Principal::Worker { id }));
    let kinds: Vec<_> = decided.events.iter().map(Event::kind).collect();
    assert_eq!(kinds, ["worker_registered", "acted"], "its credential is known");
    assert_eq!(cluster.engine.keys().worker(id).unwrap().by, BY);
}

/// Its processes may still run, so its locks are free only after the lease duration, as if it had fallen silent.
#[test]
fn a_revoked_worker_is_refused_at_once_and_keeps_its_locks_for_a_ttl() {
    let mut cluster = enrolled("alpha");
    cluster.submit("ship", |plan| plan.step("a", StepSpec::locking(["db"]), []));
    assert_eq!(cluster.holder("a").as_deref(), Some("alpha"));
    let worker = cluster.workers["alpha"].id;
    cluster.ask(EngineRequest::RevokeWorker { worker }.by(BY));
    assert_eq!(
        cluster.workers["alpha"].stops.len(),
        1,
        "the reply to its parked exchange orders it to end every step"
    );
    assert_eq!(cluster.engine.worker_status(worker), Some(WorkerStatus::Draining));
    let register = cluster.workers["alpha"].next_incarnation().register();
    let again = EngineRequest::Join { register, digest: digest("alpha") }.by(BY);
    assert_eq!(cluster.ask(again), EngineAnswer::Refused(WorkerRefusal::Revoked));
    assert_eq!(cluster.guard_ended("alpha"), EngineAnswer::Refused(WorkerRefusal::Revoked));
    cluster.join("beta", 1, []);
    cluster.pass(TTL.saturating_sub(Span::secs(1)));
    assert_eq!(cluster.status("a"), StepStatus::Running, "no other worker has the lock yet");
    cluster.pass(Span::secs(2));
    assert_eq!(cluster.holder("a").as_deref(), Some("beta"));
}

#[test]
fn own_worker_cannot_be_revoked() {
    let mut cluster = TestCluster::new().leader("own", 1, []);
    let own = cluster.workers["own"].id;
    let revoke = |worker| EngineRequest::RevokeWorker { worker }.by(BY);
    assert_eq!(cluster.ask(revoke(own)), EngineAnswer::Denied(RequestDenial::OwnWorker(own)));
    let unknown = WorkerId(77);
    assert_eq!(
        cluster.ask(revoke(unknown)),
        EngineAnswer::Denied(RequestDenial::NoSuchWorker(unknown))
    );
    assert!(cluster.engine.acts().is_empty());
}

/// A worker that joined before credentials were kept can be revoked too.
#[test]
fn a_worker_without_a_credential_is_revoked_too() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    let worker = cluster.workers["alpha"].id;
    assert_eq!(cluster.ask(EngineRequest::RevokeWorker { worker }.by(BY)), EngineAnswer::Done);
    assert!(cluster.engine.keys().is_revoked(worker));
    let exchange = cluster.send("alpha");
    assert_eq!(cluster.arrive(&exchange)[0].body, Err(WorkerRefusal::Revoked));
}
