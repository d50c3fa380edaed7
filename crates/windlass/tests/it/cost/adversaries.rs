//! Pipelines and requests that cost a controller more than they cost their sender.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use windlass::core::id::{RunId, StepIx};
use windlass_link::output::LogChunk;
use windlass_store::logs::LogId;

use super::bystanders::{CostPlainWorker, CostRequest};
use crate::support::waiting::pause;

/// An attack. A number chooses one by this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Adversary {
    /// One step with 60,000 locks.
    LocksOfAStep,
    /// 300 steps with 301 locks each, and as many as are allowed.
    LocksOfManySteps,
    /// A default of 1 MB that 10,000 texts refer to.
    LargeDefault,
    /// A matrix of 316 × 316 cells with `route`.
    RoutedMatrix,
    /// 100,000 steps, each with a requirement of its own.
    DistinctRequires,
    /// 200,000 tags.
    Tags,
    /// 2,000 misspelt needs among 20,000 steps.
    MisspeltNeeds,
    /// 100,000 entries of `env`.
    Environment,
    /// Many submissions at once.
    Submissions,
    /// Many pieces of output of runs that no controller knows.
    LogPieces,
    /// Many large bodies that do not end.
    SlowBodies,
    /// Many large bodies that are no pipelines.
    LargeBodies,
    /// 100,000 steps that wait for each other, in a run that is then cancelled.
    CancelledChain,
    /// 10,000 aliases of a script of 250 KB.
    Aliases,
    /// Short submissions that multiply: a matrix of 316 × 316 cells and aliases of aliases, spelt so that neither is seen in the
    /// body.
    HiddenMultipliers,
    /// 200 bodies of which each byte arrives alone, and that do not end.
    TrickledBodies,
}

impl Adversary {
    const ALL: [Self; 16] = [
        Self::LocksOfAStep,
        Self::LocksOfManySteps,
        Self::LargeDefault,
        Self::RoutedMatrix,
        Self::DistinctRequires,
        Self::Tags,
        Self::MisspeltNeeds,
        Self::Environment,
        Self::Submissions,
        Self::LogPieces,
        Self::SlowBodies,
        Self::LargeBodies,
        Self::CancelledChain,
        Self::Aliases,
        Self::HiddenMultipliers,
        Self::TrickledBodies,
    ];

    /// How many there are.
    pub(super) const COUNT: u64 = Self::ALL.len() as u64;

    /// The adversary that a number chooses.
    pub(super) fn of(number: u64) -> Self {
        Self::ALL[usize::try_from(number % Self::COUNT).expect("it is small")]
    }
}

/// How much an adversary asks for, in thousandths of the size in its description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AttackSize(pub(super) usize);

impl AttackSize {
    /// The size that a number chooses: a tenth first, so that accepted plans have at most 10,000 steps; then that of the
    /// description; then any between a hundredth and the double.
    pub(super) fn of(number: u64) -> Self {
        match number / Adversary::COUNT {
            0 => Self(100),
            1 => Self(1000),
            turn => {
                Self(usize::try_from(10 + turn.wrapping_mul(7919) % 1990).expect("it is small"))
            }
        }
    }

    const fn of_count(self, count: usize) -> usize {
        count * self.0 / 1000
    }
}

impl Adversary {
    /// Whether a plan of this size is accepted with more than 10,000 steps.
    pub(super) fn is_beyond_10_000_steps(self, size: AttackSize) -> bool {
        let multiplies = matches!(
            self,
            Self::RoutedMatrix
                | Self::DistinctRequires
                | Self::CancelledChain
                | Self::HiddenMultipliers
        );
        multiplies && size.0 > 100
    }
}

impl Adversary {
    /// The memory that a controller with `limit` may use under this attack. Bodies are bounded by 192 MiB of their own,
    /// and single bytes must not use as much memory as the buffers in which they arrive.
    pub(super) const fn memory_max(self, limit: u64) -> u64 {
        match self {
            Self::SlowBodies | Self::LargeBodies => 256 << 20,
            Self::TrickledBodies => 128 << 20,
            Self::LocksOfAStep
            | Self::LocksOfManySteps
            | Self::LargeDefault
            | Self::RoutedMatrix
            | Self::DistinctRequires
            | Self::Tags
            | Self::MisspeltNeeds
            | Self::Environment
            | Self::Submissions
            | Self::LogPieces
            | Self::CancelledChain
            | Self::Aliases
            | Self::HiddenMultipliers => limit,
        }
    }
}

/// The answer to one request of an adversary.
#[derive(Clone, Debug)]
pub(super) struct AttackAnswer {
    /// The status; 0 if there was none.
    pub(super) status: u16,
    pub(super) body: String,
    /// How long it took.
    pub(super) took: Duration,
}

impl AttackAnswer {
    fn to(request: CostRequest<'_>, port: u16) -> Self {
        let asked_at = Instant::now();
        let (status, body) = request.send(port).unwrap_or_default();
        Self { status, body, took: asked_at.elapsed() }
    }

    /// Returns whether the request was accepted.
    pub(super) const fn is_accepted(&self) -> bool {
        matches!(self.status, 200..300)
    }

    /// Returns whether the controller accepts the request or refuses it. A refusal because of the size must state a
    /// number.
    pub(super) fn is_sound(&self) -> bool {
        match self.status {
            200..300 | 400 => true,
            413 | 422 | 429 => {
                let problem: Value = serde_json::from_str(&self.body).unwrap_or_default();
                let detail = problem["detail"].as_str().unwrap_or_default();
                // The line number, and the code after the message, do not state the size.
                let message = detail.split_once(": ").map_or(detail, |it| it.1);
                let message = message.rsplit_once(" (").map_or(message, |it| it.0);
                message.contains(|it: char| it.is_ascii_digit())
            }
            _ => false,
        }
    }
}

#[test]
fn refusal_without_a_number_and_missing_answer_are_unsound() {
    let took = Duration::ZERO;
    let of = |status, body: &str| AttackAnswer { status, body: body.to_owned(), took };
    assert!(of(422, r#"{"detail":"6000 locks, at most 32","status":422}"#).is_sound());
    assert!(!of(422, r#"{"detail":"line 3 of a: too many locks (W1)","status":422}"#).is_sound());
    assert!(!of(0, "").is_sound() && !of(500, r#"{"detail":"5"}"#).is_sound());
}

/// Attacks a controller, and returns after its last answer.
pub(super) fn attack(adversary: Adversary, size: AttackSize, port: u16) -> Vec<AttackAnswer> {
    match adversary {
        Adversary::LocksOfAStep => submit(port, &[locks(1, size.of_count(60_000)), locks(1, 32)]),
        Adversary::LocksOfManySteps => {
            submit(port, &[locks(size.of_count(300), 301), locks(size.of_count(3_000), 32)])
        }
        Adversary::LargeDefault => submit(port, &large_default(size)),
        Adversary::RoutedMatrix => submit(port, &[matrix(size.of_count(99_856).isqrt())]),
        Adversary::DistinctRequires => submit(port, &[requires(size.of_count(100_000))]),
        Adversary::Tags => submit(port, &[tags(size.of_count(200_000))]),
        Adversary::MisspeltNeeds => submit(port, &[misspelt(size.of_count(20_000))]),
        Adversary::Environment => submit(port, &[environment(size.of_count(100_000))]),
        Adversary::Submissions => many_submissions(port, size),
        Adversary::LogPieces => log_pieces(port, size.of_count(100_000)),
        Adversary::SlowBodies => slow_bodies(port, size.of_count(200)),
        Adversary::LargeBodies => large_bodies(port, size.of_count(40).max(2)),
        Adversary::CancelledChain => cancelled_chain(port, size.of_count(100_000)),
        Adversary::Aliases => submit(port, &[aliases(size.of_count(10_000))]),
        Adversary::HiddenMultipliers => hidden_multipliers(port, size),
        Adversary::TrickledBodies => trickled_bodies(port, size.of_count(200)),
    }
}

/// Submits pipelines one after the other.
fn submit(port: u16, pipelines: &[String]) -> Vec<AttackAnswer> {
    let submitted = pipelines.iter().map(|text| {
        let body = json!({ "text": text }).to_string();
        AttackAnswer::to(CostRequest::post("/runs", &body), port)
    });
    submitted.collect()
}

fn locks(steps: usize, locks: usize) -> String {
    let mut text = "name: locks\nsteps:\n".to_owned();
    let names: Vec<String> = (0..locks).map(|lock| format!("l{lock}")).collect();
    for step in 0..steps {
        // Without a rule of its own a step would share the lane of the others.
        let rule = format!("wait_for_lock: {}s", 3600 + step);
        write_to(
            &mut text,
            &format!("  s{step}: {{ run: make, {rule}, lock: [{}] }}\n", names.join(", ")),
        );
    }
    text
}

/// One submission with a default that is too large, and one with the largest allowed default.
fn large_default(size: AttackSize) -> [String; 2] {
    let times = size.of_count(10_000);
    [1_000_000, 120_000].map(|bytes| {
        let value = "x".repeat(bytes);
        let mut text = format!("name: large\nparams: {{ big: {{ default: {value} }} }}\nsteps:\n");
        for step in 0..times.div_ceil(10) {
            write_to(&mut text, &format!("  s{step}:\n    run: make\n    env:\n"));
            for entry in 0..10 {
                write_to(&mut text, &format!("      E{entry}: ${{{{ params.big }}}}\n"));
            }
        }
        text
    })
}

fn matrix(side: usize) -> String {
    let axis = |name: &str| {
        let values: Vec<String> = (0..side).map(|value| format!("{name}{value}")).collect();
        format!("{name}: [{}]", values.join(", "))
    };
    let (a, b) = (axis("a"), axis("b"));
    format!(
        "name: matrix\nsteps:\n  s:\n    run: make\n    matrix: {{ {a}, {b}, route: [a, b] }}\n"
    )
}

fn requires(steps: usize) -> String {
    let mut text = "name: requires\nsteps:\n".to_owned();
    for step in 0..steps {
        write_to(&mut text, &format!("  s{step}: {{ run: make, requires: r{step} }}\n"));
    }
    text
}

fn tags(count: usize) -> String {
    let tags: Vec<String> = (0..count).map(|tag| format!("t{tag}")).collect();
    format!("name: tags\nsteps:\n  s: {{ run: make, tags: [{}] }}\n", tags.join(", "))
}

fn misspelt(steps: usize) -> String {
    let mut text = "name: misspelt\nsteps:\n".to_owned();
    for step in 0..steps {
        let needs =
            if step % 10 == 9 { format!(", needs: stpe{}", step - 1) } else { String::new() };
        write_to(&mut text, &format!("  step{step}: {{ run: make{needs} }}\n"));
    }
    text
}

fn environment(count: usize) -> String {
    let mut text = "name: environment\nsteps:\n  s:\n    run: make\n    env:\n".to_owned();
    for entry in 0..count {
        write_to(&mut text, &format!("      E{entry}: v\n"));
    }
    text
}

fn many_submissions(port: u16, size: AttackSize) -> Vec<AttackAnswer> {
    let text = requires(100);
    let texts = vec![text; size.of_count(40).max(2)];
    thread::scope(|scope| {
        let senders: Vec<_> = (0..8).map(|_| scope.spawn(|| submit(port, &texts))).collect();
        senders.into_iter().flat_map(|it| it.join().expect("it does not panic")).collect()
    })
}

/// Pieces of one byte of runs, steps and attempts that do not exist.
fn log_pieces(port: u16, count: usize) -> Vec<AttackAnswer> {
    let worker = CostPlainWorker::join(port, "writer");
    let piece = |number: usize| {
        let run = RunId(u64::try_from(number % 1000).expect("it is small"));
        let log = LogId::new(run, StepIx(7), 1, 1);
        LogChunk { log, at: 0, bytes: vec![b'x'] }
    };
    let pieces: Vec<LogChunk> = (0..count).map(piece).collect();
    let body = postcard::to_stdvec(&pieces).expect("it can be written");
    let path = format!("/workers/{}/logs", worker.id);
    let request = CostRequest::post(&path, "").of(&worker, &body);
    (0..4).map(|_| AttackAnswer::to(request, port)).collect()
}

/// Bodies of 8 MB, each without its last byte, all open at the same time.
fn slow_bodies(port: u16, count: usize) -> Vec<AttackAnswer> {
    let body = vec![b' '; 8_000_000 - 1];
    let head = format!(
        "POST /runs HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
        body.len() + 1
    );
    let mut open = Vec::new();
    for _ in 0..count {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { continue };
        // The client does not wait for a body that is not read.
        let wait = Some(std::time::Duration::from_secs(1));
        stream.set_write_timeout(wait).expect("it is a time");
        // It fails for a body that is refused before its end.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        open.push(stream);
    }
    // There is no answer as long as they do not end.
    Vec::new()
}

/// Complete bodies of 8 MB that are no JSON, from several clients at once.
fn large_bodies(port: u16, count: usize) -> Vec<AttackAnswer> {
    let body = "[".repeat(8_000_000);
    let request = CostRequest::post("/runs", &body);
    let send = || (0..count).map(|_| AttackAnswer::to(request, port)).collect::<Vec<_>>();
    thread::scope(|scope| {
        let senders: Vec<_> = (0..4).map(|_| scope.spawn(send)).collect();
        senders.into_iter().flat_map(|it| it.join().expect("it does not panic")).collect()
    })
}

/// Each step needs the one before it; the run is cancelled, so that all of them end at once.
fn cancelled_chain(port: u16, steps: usize) -> Vec<AttackAnswer> {
    let mut text =
        "name: chain\nsteps:\n  s0: { run: make, requires: nothing-like-it }\n".to_owned();
    for step in 1..steps {
        write_to(&mut text, &format!("  s{step}: {{ run: make, needs: s{} }}\n", step - 1));
    }
    let mut answers = submit(port, &[text]);
    let run: Value = serde_json::from_str(&answers[0].body).unwrap_or_default();
    if let Some(run) = run["id"].as_str() {
        let path = format!("/runs/{run}/cancel");
        answers.push(AttackAnswer::to(CostRequest::post(&path, ""), port));
    }
    answers
}

fn aliases(steps: usize) -> String {
    let mut text =
        format!("name: aliases\nx-script: &b |\n  {}\nsteps:\n", "echo a; ".repeat(31_250));
    for step in 0..steps {
        write_to(&mut text, &format!("  s{step}: {{ run: *b }}\n"));
    }
    text
}

/// Bodies of less than 4 KiB, in which JSON spells the multiplying values in another way.
fn hidden_multipliers(port: u16, size: AttackSize) -> Vec<AttackAnswer> {
    let width = size.of_count(99_856).isqrt();
    let axis = (0..width).map(|value| value.to_string()).collect::<Vec<_>>().join(",");
    let cells = format!(
        r"name: hidden\nsteps: {{ s: {{ run: make, m\u0061trix: {{ a: [{axis}], b: [{axis}] }} }} }}\n"
    );
    let many = |item: &str| vec![item; 100].join(",");
    let (one, two, three) = (many("x"), many(r"\u002aa"), many(r"\u002ab"));
    let unfolding = format!(
        r"name: unfolding\nx-a: \u0026a [{one}]\nx-b: \u0026b [{two}]\nx-c: [{three}]\nsteps: {{ s: {{ run: make }} }}\n"
    );
    let bodies = [cells, unfolding].map(|text| format!(r#"{{"text":"{text}"}}"#));
    let repeated = bodies.iter().cycle().take(2 * size.of_count(4).max(1));
    repeated.map(|body| AttackAnswer::to(CostRequest::post("/runs", body), port)).collect()
}

/// Bodies that arrive byte by byte, all of them at a time: each byte comes in a buffer of its own.
fn trickled_bodies(port: u16, count: usize) -> Vec<AttackAnswer> {
    const BYTES: usize = 800;
    let head = "POST /runs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 60000\r\n\r\n";
    let opened = (0..count).map(|_| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.set_nodelay(true).ok()?;
        stream.write_all(head.as_bytes()).ok()?;
        Some(stream)
    });
    let mut open: Vec<TcpStream> = opened.flatten().collect();
    for _ in 0..BYTES {
        // A body that was refused is not written to any more.
        open.retain_mut(|stream| stream.write_all(b" ").is_ok());
        pause(Duration::from_millis(1));
    }
    Vec::new()
}

fn write_to(text: &mut String, line: &str) {
    text.write_str(line).expect("memory is enough");
}
