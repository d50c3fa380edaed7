//! Parses settings with their own syntax.

use crate::plan::{LockOrder, OnLostContact, RetryOn};
use crate::spec::duration::{DurationError, parse_duration};
use crate::time::Span;

/// Parses `5s..1m` or `5s`: the shortest and the longest wait.
pub(crate) fn duration_range(text: &str) -> Result<(Span, Span), DurationError> {
    let (min, max) = match text.split_once("..") {
        Some((min, max)) => (parse_duration(min.trim())?, parse_duration(max.trim())?),
        None => (parse_duration(text)?, parse_duration(text)?),
    };
    if min == Span::ZERO && max > min {
        return Err(DurationError::Zero);
    }
    if min <= max { Ok((min, max)) } else { Err(DurationError::Unreadable) }
}

/// Parses `failed`, `timed_out` or `exit-101`.
pub(crate) fn retry_on(text: &str) -> Option<RetryOn> {
    match text {
        "failed" => Some(RetryOn::Failed),
        "timed_out" => Some(RetryOn::TimedOut),
        _ => text.strip_prefix("exit-")?.parse().ok().map(RetryOn::Exit),
    }
}

pub(super) fn lock_order(text: &str) -> Option<LockOrder> {
    match text {
        "fifo" => Some(LockOrder::Fifo),
        "newest-first" => Some(LockOrder::NewestFirst),
        "cancel-older" => Some(LockOrder::CancelOlder),
        _ => None,
    }
}

pub(super) fn on_lost_contact(text: &str) -> Option<OnLostContact> {
    match text {
        "continue" => Some(OnLostContact::Continue),
        "stop" => Some(OnLostContact::Stop),
        _ => None,
    }
}
