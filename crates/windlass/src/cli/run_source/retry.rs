//! Retries while a source is unreachable: a controller restart must not end a watch.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::source::RunSourceFuture;
use crate::cli::error::CliError;

/// The first and the longest pause between tries.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Retries until there is an answer, or the source has been unreachable for too long. `away` is called at the first
/// failure.
pub(crate) async fn retry_while_away<'a, T>(
    patience: Duration,
    mut ask: impl FnMut() -> RunSourceFuture<'a, T>,
    mut away: impl FnMut(),
) -> Result<T, CliError> {
    let begun = Instant::now();
    let mut pause = PAUSE_MIN;
    loop {
        let answered = ask().await;
        let left = patience.saturating_sub(begun.elapsed());
        if !matches!(answered, Err(CliError::Unreachable(_))) || left.is_zero() {
            return answered;
        }
        if pause == PAUSE_MIN {
            away();
        }
        sleep(pause.min(left)).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Queries a source that is unreachable for these seconds; returns the result, the time, and the number of
    /// reports.
    async fn asked(patience: u64, away_for: u64) -> (Option<u8>, u64, u32) {
        let begun = Instant::now();
        let mut told = 0;
        let ask = || -> RunSourceFuture<'_, u8> {
            let back = begun.elapsed() >= Duration::from_secs(away_for);
            Box::pin(async move { if back { Ok(7) } else { Err(CliError::unreachable("away")) } })
        };
        let answered = retry_while_away(Duration::from_secs(patience), ask, || told += 1).await;
        let code = answered.as_ref().err().map(CliError::exit_code);
        assert!(code.is_none_or(|code| code == 5));
        (answered.ok(), begun.elapsed().as_secs(), told)
    }

    #[tokio::test(start_paused = true)]
    async fn unreachable_controller_is_awaited_and_reported_once() {
        assert_eq!(asked(60, 0).await, (Some(7), 0, 0));
        let (answer, seconds, told) = asked(60, 20).await;
        assert_eq!((answer, told), (Some(7), 1));
        assert!((20..=22).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn wait_for_a_controller_is_bounded() {
        assert_eq!(asked(60, 600).await, (None, 60, 1));
        assert_eq!(asked(0, 600).await, (None, 0, 0));
    }
}
