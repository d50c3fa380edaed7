//! A link of a controller's own worker, which waits for its name.
//!
//! The store may list another live worker of that name: that of a controller that was killed and has lost its state
//! directory, or that of the cluster from which the store was copied. Nothing proves that it has ended, so the leader gives
//! it up after a lease duration without contact, and later if many workers are silent at once. A controller that treated
//! the refusal as final would never run a step, so the refusal is never final here.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use windlass_core::session::{
    Exchange, ExchangeReply, LeaseRef, RegisterReply, RegisterRequest, WorkerRefusal,
};
use windlass_link::{LinkError, LinkFuture, WorkerLink};

/// The pause between two registrations.
const PAUSE: Duration = Duration::from_millis(500);

/// How often it reports that it still waits.
const TELL_EVERY: Duration = Duration::from_mins(1);

/// Receives messages for the operator.
#[derive(Clone)]
pub struct OperatorMessages(Arc<dyn Fn(&str) + Send + Sync>);

impl OperatorMessages {
    /// Passes messages to a function.
    pub fn with(print: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(print))
    }

    /// Drops messages.
    pub fn silent() -> Self {
        Self::with(|_| {})
    }
}

impl fmt::Debug for OperatorMessages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OperatorMessages")
    }
}

/// A link that repeats the registration while another live worker has the name.
#[derive(Debug)]
pub struct NameWaitLink {
    link: Arc<dyn WorkerLink>,
    tell: OperatorMessages,
}

impl NameWaitLink {
    /// Waits as long as the name is taken.
    pub fn new(link: Arc<dyn WorkerLink>, tell: OperatorMessages) -> Self {
        Self { link, tell }
    }

    async fn registered(
        &self,
        register: RegisterRequest,
    ) -> Result<Result<RegisterReply, WorkerRefusal>, LinkError> {
        let mut tell_at = Instant::now();
        loop {
            let answered = self.link.register(register.clone()).await?;
            let Err(refusal @ WorkerRefusal::NameTaken { .. }) = &answered else {
                return Ok(answered);
            };
            if Instant::now() >= tell_at {
                tell_at += TELL_EVERY;
                (self.tell.0)(&format!(
                    "no steps run here yet: {refusal}. The worker of an earlier controller is given up when it has been silent for a lease; trying again until then"
                ));
            }
            sleep(PAUSE).await;
        }
    }
}

impl WorkerLink for NameWaitLink {
    fn register(
        &self,
        register: RegisterRequest,
    ) -> LinkFuture<'_, Result<RegisterReply, WorkerRefusal>> {
        Box::pin(self.registered(register))
    }

    fn exchange(&self, exchange: Exchange) -> LinkFuture<'_, ExchangeReply> {
        self.link.exchange(exchange)
    }

    fn cancel_run(&self, lease: LeaseRef) -> LinkFuture<'_, ()> {
        self.link.cancel_run(lease)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};

    use windlass_core::id::{Incarnation, Term, WorkerId};
    use windlass_core::requirement::{Labels, WorkerScope};
    use windlass_core::session::{FormerIncarnationProof, WorkerLocality};
    use windlass_core::time::Span;

    use super::*;

    /// A leader that answers this many times that the name is taken.
    #[derive(Debug)]
    struct NameTakenLink(AtomicU32);

    impl WorkerLink for NameTakenLink {
        fn register(
            &self,
            register: RegisterRequest,
        ) -> LinkFuture<'_, Result<RegisterReply, WorkerRefusal>> {
            let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                Some(left.saturating_sub(1))
            });
            Box::pin(async move {
                if left.is_ok_and(|left| left > 0) {
                    return Ok(Err(WorkerRefusal::NameTaken {
                        name: register.name,
                        by: WorkerId(7),
                    }));
                }
                let (ttl, interval) = (Span::secs(3), Span::secs(1));
                Ok(Ok(RegisterReply { term: Term(1), ttl, interval, verdicts: Vec::new() }))
            })
        }

        fn exchange(&self, _exchange: Exchange) -> LinkFuture<'_, ExchangeReply> {
            Box::pin(std::future::pending())
        }
    }

    fn register() -> RegisterRequest {
        RegisterRequest {
            worker: WorkerId(1),
            name: "c0".into(),
            incarnation: Incarnation(1),
            labels: Labels::new(["linux"]),
            slots: 1,
            locality: WorkerLocality::Apart,
            scope: WorkerScope::AllRuns,
            former: FormerIncarnationProof::Unknown,
            spooled: Vec::new(),
        }
    }

    /// Registers with a leader that refuses this many times; returns the answer, the time, and the messages.
    async fn ended(refusals: u32) -> (Result<RegisterReply, WorkerRefusal>, Duration, Vec<String>) {
        let texts = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&texts);
        let tell = OperatorMessages::with(move |line| lines.lock().unwrap().push(line.to_owned()));
        let link = NameWaitLink::new(Arc::new(NameTakenLink(refusals.into())), tell);
        let began = Instant::now();
        let ended = link.register(register()).await.unwrap();
        let texts = texts.lock().unwrap().clone();
        (ended, began.elapsed(), texts)
    }

    #[tokio::test(start_paused = true)]
    async fn name_is_taken_once_free_and_the_wait_is_reported_once() {
        let (ended, took, lines) = ended(20).await;
        assert!(ended.is_ok(), "{ended:?}");
        assert_eq!(took, 20 * PAUSE);
        let [line] = &lines[..] else { panic!("{lines:?}") };
        for word in ["no steps run here yet", "`c0` is taken by worker", "--name", "trying again"] {
            assert!(line.contains(word), "{word}: {line}");
        }
    }

    /// Waits longer than the longest lease.
    #[tokio::test(start_paused = true)]
    async fn taken_name_is_awaited_and_reported_every_minute() {
        let (ended, took, lines) = ended(1_500).await;
        assert!(ended.is_ok(), "{ended:?}");
        assert_eq!((took, lines.len()), (1_500 * PAUSE, 13));
    }

    #[tokio::test(start_paused = true)]
    async fn free_name_is_taken_at_once() {
        let (ended, took, lines) = ended(0).await;
        assert!(ended.is_ok() && took.is_zero() && lines.is_empty(), "{ended:?} {lines:?}");
    }
}
