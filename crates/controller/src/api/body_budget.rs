//! The memory that all bodies of requests may take together.
//!
//! A body is charged as it arrives, and until the bytes are dropped. The first bytes of each body are free, so that small
//! requests are answered even while large ones fill the budget. Their number is bounded by that of connections: 8,192 times
//! [`FREE`] are 64 MiB, so all bodies take at most 192 MiB.
//!
//! Each piece of a body is copied as it arrives: it is a part of the buffer that it was received in, and would keep all of it
//! in memory. A client that sends one byte at a time would hold thousands of bytes for each.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::Request;
use hyper::body::{Bytes, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most bytes of all bodies together: sixteen of the largest submissions, an eighth of a controller with 1 GiB.
const BUDGET: u32 = 128 << 20;

/// The bytes of each body that are not charged: every heartbeat, claim and small submission fits.
const FREE: usize = 8 << 10;

/// The memory of a piece of a body besides its bytes, until the body is complete.
const PIECE: usize = 64;

/// The free memory for bodies.
#[derive(Clone, Debug)]
pub(super) struct BodyBudget {
    left: Arc<Semaphore>,
}

impl Default for BodyBudget {
    fn default() -> Self {
        Self::new(BUDGET)
    }
}

impl BodyBudget {
    fn new(bytes: u32) -> Self {
        Self { left: Arc::new(Semaphore::new(usize::try_from(bytes).unwrap_or(0))) }
    }

    /// The same request, whose body is charged as it is read.
    pub(super) fn charge(&self, request: Request) -> (Request, BodyCharge) {
        let charge = BodyCharge::default();
        let (parts, body) = request.into_parts();
        let charged =
            ChargedBody { body, free: FREE, left: Arc::clone(&self.left), charge: charge.clone() };
        (Request::from_parts(parts, Body::new(charged)), charge)
    }
}

/// The memory that one body has taken from the budget; returned when the last clone is dropped.
#[derive(Clone, Debug, Default)]
pub(super) struct BodyCharge {
    taken: Arc<std::sync::Mutex<Option<OwnedSemaphorePermit>>>,
    is_refused: Arc<AtomicBool>,
}

impl BodyCharge {
    /// Whether the body did not fit.
    pub(super) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    /// The bytes of the body, which hold the charge until they are dropped.
    pub(super) fn hold(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(BudgetedBytes { bytes, _charge: self })
    }

    fn add(&self, more: OwnedSemaphorePermit) {
        let mut taken = self.taken.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match taken.as_mut() {
            Some(taken) => taken.merge(more),
            None => *taken = Some(more),
        }
    }
}

struct BudgetedBytes {
    bytes: Bytes,
    _charge: BodyCharge,
}

impl AsRef<[u8]> for BudgetedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A body that fails as soon as the budget is used up.
struct ChargedBody {
    body: Body,
    /// Bytes that are not charged yet.
    free: usize,
    left: Arc<Semaphore>,
    charge: BodyCharge,
}

impl ChargedBody {
    fn take(&mut self, bytes: usize) -> Result<(), axum::Error> {
        let free = bytes.min(self.free);
        self.free -= free;
        let charged = u32::try_from(bytes - free).unwrap_or(u32::MAX);
        if charged == 0 {
            return Ok(());
        }
        let taken = Arc::clone(&self.left).try_acquire_many_owned(charged);
        let taken = taken.map_err(|error| {
            self.charge.is_refused.store(true, Ordering::Relaxed);
            axum::Error::new(error)
        })?;
        self.charge.add(taken);
        Ok(())
    }
}

impl hyper::body::Body for ChargedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let charged = self.get_mut();
        let polled = Pin::new(&mut charged.body).poll_frame(context);
        let Poll::Ready(Some(Ok(frame))) = polled else { return polled };
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        let taken = charged.take(bytes + PIECE);
        Poll::Ready(Some(taken.map(|()| frame.map_data(|piece| Bytes::copy_from_slice(&piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    async fn read(budget: &BodyBudget, bytes: usize) -> (Result<Bytes, axum::Error>, BodyCharge) {
        let (request, charge) = budget.charge(Request::new(Body::from(vec![b'x'; bytes])));
        (to_bytes(request.into_body(), usize::MAX).await, charge)
    }

    #[tokio::test]
    async fn bodies_beyond_the_budget_are_refused_until_the_others_are_dropped() {
        let budget = BodyBudget::new(1000);
        let (first, charge) = read(&budget, FREE + 600).await;
        let held = charge.hold(first.expect("it fits"));
        assert_eq!(held.len(), FREE + 600);
        let (second, charge) = read(&budget, FREE + 600).await;
        second.unwrap_err();
        assert!(charge.is_refused());
        let (small, charge) = read(&budget, FREE - PIECE).await;
        small.expect("small bodies are free");
        assert!(!charge.is_refused());
        let part = held.slice(1..2);
        drop(held);
        read(&budget, FREE + 600).await.0.unwrap_err();
        drop(part);
        read(&budget, FREE + 1000 - PIECE).await.0.expect("everything was given back");
    }

    /// A body that arrives byte by byte.
    struct SingleByteBody(Bytes);

    impl hyper::body::Body for SingleByteBody {
        type Data = Bytes;
        type Error = axum::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
            let next = (!self.0.is_empty()).then(|| Ok(Frame::data(self.0.split_to(1))));
            Poll::Ready(next)
        }
    }

    #[tokio::test]
    async fn a_body_in_thousands_of_pieces_is_charged_for_each_of_them() {
        let budget = BodyBudget::new(1000);
        let pieces = SingleByteBody(Bytes::from(vec![b'x'; FREE]));
        let (request, charge) = budget.charge(Request::new(Body::new(pieces)));
        to_bytes(request.into_body(), usize::MAX).await.unwrap_err();
        assert!(charge.is_refused(), "the bytes alone would be free");
    }

    #[tokio::test]
    async fn a_piece_of_a_body_does_not_keep_the_buffer_that_it_came_in() {
        let buffer = Bytes::from(vec![b'x'; 1 << 20]);
        let (request, _charge) =
            BodyBudget::new(1000).charge(Request::new(Body::from(buffer.slice(..10))));
        let held = to_bytes(request.into_body(), usize::MAX).await.expect("it is free");
        assert_eq!(held.len(), 10);
        assert!(buffer.is_unique(), "what was received is not needed any more");
    }
}
