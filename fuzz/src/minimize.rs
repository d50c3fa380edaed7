//! Minimizes an input that has a finding.

use std::time::Duration;

use crate::check::FuzzTarget;
use crate::watchdog::{checked, now};

/// The maximum number of checks of one minimization.
const CHECKS_MAX: u32 = 3_000;

/// The time limit of one minimization.
const TIME_MAX: Duration = Duration::from_secs(20);

/// Removes parts as long as the finding remains the same. Returns the smallest input.
pub(crate) fn cut(target: FuzzTarget, bytes: &[u8], key: &str) -> Vec<u8> {
    let mut best = bytes.to_vec();
    let (mut checks, began) = (0, now());
    let mut size = best.len() / 2;
    while size > 0 {
        let mut shorter = false;
        let mut at = 0;
        while at < best.len() && checks < CHECKS_MAX && began.elapsed() < TIME_MAX {
            let end = (at + size).min(best.len());
            let candidate = [&best[..at], &best[end..]].concat();
            checks += 1;
            if checked(target, &candidate).0.is_err_and(|finding| finding.key == key) {
                best = candidate;
                shorter = true;
            } else {
                at += size;
            }
        }
        if !shorter || size > 1 {
            size /= 2;
        }
    }
    best
}
