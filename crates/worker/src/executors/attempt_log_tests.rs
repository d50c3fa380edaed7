//! Output that finds no room: it waits, and its step still receives all orders meanwhile.

use std::ops::Range;
use std::sync::Mutex;

use windlass_core::id::{Fence, RunId, StepIx};
use windlass_core::outcome::StepOutput;
use windlass_core::session::{LeaseRef, StopMode, StopOrder, StopReason};
use windlass_core::time::Span;
use windlass_store::db::StoreFuture;
use windlass_store::logs::{LogPart, MemoryLogs};

use super::*;

/// A log store that has room or has none.
#[derive(Debug)]
struct LimitedLogs {
    logs: MemoryLogs,
    has_room: Mutex<bool>,
    when_full: LogFullPolicy,
    waits: Mutex<Vec<bool>>,
    last_line: Mutex<String>,
}

impl LimitedLogs {
    fn without_room(when_full: LogFullPolicy) -> Arc<Self> {
        let (logs, has_room) = (MemoryLogs::new(), Mutex::new(false));
        Arc::new(Self {
            logs,
            has_room,
            when_full,
            waits: Mutex::default(),
            last_line: Mutex::default(),
        })
    }

    async fn text(&self) -> String {
        let part = self.logs.read(log_id(&grant()), 0..1_000).await.unwrap();
        String::from_utf8(part.bytes).unwrap()
    }
}

impl LogStore for LimitedLogs {
    fn append(&self, log: LogId, at: u64, bytes: Vec<u8>) -> StoreFuture<'_, u64> {
        if *self.has_room.lock().unwrap() {
            return self.logs.append(log, at, bytes);
        }
        Box::pin(async { Err(StoreError::Full { place: "here".to_owned() }) })
    }

    fn close_cut(&self, _: LogId, line: String) -> StoreFuture<'_, ()> {
        *self.last_line.lock().unwrap() = line;
        Box::pin(async { Ok(()) })
    }

    fn when_full(&self) -> LogFullPolicy {
        self.when_full
    }

    fn note_wait(&self, wait: &LogSpaceWait<'_>) {
        self.waits.lock().unwrap().push(wait.error.is_some());
    }

    fn read(&self, log: LogId, range: Range<u64>) -> StoreFuture<'_, LogPart> {
        self.logs.read(log, range)
    }

    fn list(&self, run: RunId) -> StoreFuture<'_, Vec<(LogId, u64)>> {
        self.logs.list(run)
    }

    fn remove(&self, run: RunId) -> StoreFuture<'_, ()> {
        self.logs.remove(run)
    }

    fn runs(&self) -> StoreFuture<'_, Vec<(RunId, u64)>> {
        self.logs.runs()
    }
}

fn grant() -> LeaseGrant {
    let run = RunId(7);
    LeaseGrant {
        lease: LeaseRef { fence: Fence(3), run, step: StepIx(0), attempt: 1 },
        delivery: 1,
        root: run,
        name: "s".into(),
        values: None,
        work: "".into(),
        timeout: None,
        kill_grace: Span::ZERO,
        stops_on_lost_contact: false,
    }
}

fn record(logs: &Arc<LimitedLogs>) -> AttemptLog {
    AttemptLog::new(Arc::clone(logs) as Arc<dyn LogStore>, &grant(), SecretMasks::default())
}

fn orders() -> (watch::Sender<AttemptOrders>, watch::Receiver<AttemptOrders>) {
    watch::channel(AttemptOrders::default())
}

const BOUND: Duration = Duration::from_mins(1);

#[tokio::test(start_paused = true)]
async fn output_blocked_by_a_full_disk_resumes_or_can_be_dropped() {
    let logs = LimitedLogs::without_room(LogFullPolicy::Fails(BOUND));
    let mut record = record(&logs);
    record.take(b"one ");
    let late = Instant::now() + BOUND / 2;
    tokio::select! {
        () = record.write() => panic!("there is no room"),
        () = sleep_until(late) => {}
    }
    record.take(b"two");
    *logs.has_room.lock().unwrap() = true;
    record.write().await;
    assert!(!record.is_unwritten() && !record.has_failed());
    assert_eq!(logs.text().await, "one two");
    assert_eq!(
        *logs.waits.lock().unwrap(),
        [true, false],
        "reported once, and once more when it is over"
    );
}

#[tokio::test(start_paused = true)]
async fn step_fails_with_a_reason_when_its_output_stays_unwritable() {
    let logs = LimitedLogs::without_room(LogFullPolicy::Fails(BOUND));
    let (mut record, (_orders, mut received)) = (record(&logs), orders());
    let began = Instant::now();
    record.take(b"lost");
    record.write().await;
    assert!(record.has_failed());
    assert!((BOUND..BOUND + Duration::from_secs(1)).contains(&began.elapsed()));
    record.take(b"more of it is read, and dropped");
    record.finish(&mut received).await;
    let why = "its output could not be kept: no space left in here for 60 s";
    assert_eq!(*logs.last_line.lock().unwrap(), format!("\nwindlass: the step failed: {why}\n"));
    let outcome = record.apply_output_loss(Outcome::exit(0));
    assert_eq!((outcome.kind, outcome.exit_code), (OutcomeKind::Failed, None));
    let failure = StepFailure::of_output(&outcome.output).unwrap();
    assert_eq!((failure.kind, failure.message.as_str()), (StepFailureKind::OutputLost, why));
    let cancelled = Outcome::plain(OutcomeKind::Cancelled);
    assert_eq!(record.apply_output_loss(cancelled.clone()), cancelled);
}

/// A stopped step fails too if its wait ends early, because its output is lost all the same.
#[tokio::test(start_paused = true)]
async fn stopped_step_does_not_succeed_without_its_output() {
    let logs = LimitedLogs::without_room(LogFullPolicy::Fails(BOUND));
    let (mut record, (orders, mut received)) = (record(&logs), orders());
    record.take(b"lost");
    let stop = StopOrder { fence: Fence(3), how: StopMode::Term, why: StopReason::RunCancelled };
    orders.send_modify(|orders| orders.stop = Some(stop));
    record.finish(&mut received).await;
    assert_eq!(record.apply_output_loss(Outcome::exit(0)).kind, OutcomeKind::Failed);
}

#[tokio::test(start_paused = true)]
async fn stopped_step_does_not_wait_for_disk_space() {
    let logs = LimitedLogs::without_room(LogFullPolicy::Waits);
    let (mut record, (orders, mut received)) = (record(&logs), orders());
    record.take(b"lost");
    let began = Instant::now();
    let stop = async {
        sleep_until(began + Duration::from_hours(1)).await;
        let stop =
            StopOrder { fence: Fence(3), how: StopMode::Term, why: StopReason::RunCancelled };
        orders.send_modify(|orders| orders.stop = Some(stop));
    };
    tokio::join!(record.finish(&mut received), stop);
    assert!(began.elapsed() < Duration::from_hours(1) + Duration::from_secs(1));
    let outcome = record.apply_output_loss(Outcome::exit(0));
    assert_eq!((outcome.kind, outcome.output), (OutcomeKind::Succeeded, StepOutput::NONE));
}

#[tokio::test(start_paused = true)]
async fn logs_with_a_size_limit_fail_no_step() {
    let logs = LimitedLogs::without_room(LogFullPolicy::DropsOutput);
    let mut record = record(&logs);
    record.take(b"lost");
    record.write().await;
    assert!(!record.is_unwritten() && !record.has_failed());
}
