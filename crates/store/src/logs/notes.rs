//! Notes: summaries that steps write for people to `$WINDLASS_SUMMARY`. They are stored and shipped like output.

use std::collections::BTreeMap;

use windlass_core::id::{RunId, StepIx};

use super::interface::{LogId, LogStore};
use super::stream::LogStream;
use crate::db::StoreError;

/// Maximum bytes of the notes of one attempt.
pub const NOTES_MAX: usize = 64 << 10;

/// Maximum bytes of the notes of a run that are read: GitHub allows a megabyte for the whole page.
const ALL_MAX: u64 = 512 << 10;

/// Returns the outputs of the steps of a run, in order, with their sizes.
pub async fn list_printed(
    store: &dyn LogStore,
    run: RunId,
) -> Result<Vec<(LogId, u64)>, StoreError> {
    let logs = store.list(run).await?;
    Ok(logs.into_iter().filter(|(log, _)| log.stream == LogStream::Output).collect())
}

/// Returns the last notes of each step of a run, by the log of its output, as far as they fit on a page.
pub async fn collect_notes(
    store: &dyn LogStore,
    run: RunId,
) -> Result<Vec<(LogId, String)>, StoreError> {
    let logs = store.list(run).await?.into_iter().filter(|(log, _)| log.stream == LogStream::Notes);
    // The logs are in order, so the last one of each step remains.
    let last: BTreeMap<StepIx, (LogId, u64)> = logs.map(|it| (it.0.step, it)).collect();
    let (mut found, mut bytes) = (Vec::new(), 0);
    for (log, size) in last.into_values() {
        bytes += size;
        if bytes > ALL_MAX {
            break;
        }
        let part = store.read(log, 0..NOTES_MAX as u64).await?;
        let text = String::from_utf8_lossy(&part.bytes).into_owned();
        if !text.trim().is_empty() {
            found.push((log.output(), text));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::MemoryLogs;

    fn log(step: u32, attempt: u16) -> LogId {
        LogId::new(RunId(7), StepIx(step), attempt, 1)
    }

    #[tokio::test]
    async fn latest_notes_are_found_and_are_not_listed_as_output() {
        let store = MemoryLogs::new();
        let write = async |log: LogId, text: &str| {
            store.append(log, 0, text.into()).await.expect("it takes it");
        };
        write(log(0, 1), "printed").await;
        write(log(0, 1).notes(), "# One").await;
        write(log(0, 2).notes(), "# Two").await;
        write(log(1, 1).notes(), " \n").await;
        let found = collect_notes(&store, RunId(7)).await.expect("it reads");
        assert_eq!(found, [(log(0, 2), "# Two".to_owned())]);
        assert_eq!(list_printed(&store, RunId(7)).await, Ok(vec![(log(0, 1), 7)]));
    }

    #[tokio::test]
    async fn page_size_is_bounded() {
        let store = MemoryLogs::new();
        for step in 0..9 {
            let text = vec![b'x'; NOTES_MAX];
            store.append(log(step, 1).notes(), 0, text).await.expect("it takes it");
        }
        assert_eq!(collect_notes(&store, RunId(7)).await.map(|found| found.len()), Ok(8));
    }
}
