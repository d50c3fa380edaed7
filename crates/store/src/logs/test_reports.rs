//! Test reports of steps, as JSON in a stream beside the output of the delivery that wrote them.

use windlass_core::id::{RunId, StepIx};
use windlass_core::test_report::{REPORT_JSON_MAX, TestReport};

use super::interface::{LogId, LogStore};
use super::stream::LogStream;
use crate::db::StoreError;

/// Maximum bytes of the test reports that one call reads.
const ALL_MAX: u64 = 4 << 20;

/// Returns the last test report of each step of a run, by the log of its output, as far as they fit on a page.
pub async fn collect_test_reports(
    store: &dyn LogStore,
    run: RunId,
) -> Result<Vec<(LogId, TestReport)>, StoreError> {
    let mut logs = test_logs(store, run).await?;
    // The logs are in order, so the last one of each step comes directly before the next step.
    logs.reverse();
    logs.dedup_by_key(|(log, _)| log.step);
    logs.reverse();
    read_reports(store, logs).await
}

/// Returns the test reports of all deliveries of a step, in order, as far as they fit on a page.
pub async fn list_test_reports(
    store: &dyn LogStore,
    (run, step): (RunId, StepIx),
) -> Result<Vec<(LogId, TestReport)>, StoreError> {
    let mut logs = test_logs(store, run).await?;
    logs.retain(|(log, _)| log.step == step);
    read_reports(store, logs).await
}

async fn test_logs(store: &dyn LogStore, run: RunId) -> Result<Vec<(LogId, u64)>, StoreError> {
    let logs = store.list(run).await?;
    Ok(logs.into_iter().filter(|(log, _)| log.stream == LogStream::Tests).collect())
}

/// Reads reports until the page is full. A report whose end is not here yet is left out.
async fn read_reports(
    store: &dyn LogStore,
    logs: Vec<(LogId, u64)>,
) -> Result<Vec<(LogId, TestReport)>, StoreError> {
    let (mut found, mut bytes) = (Vec::new(), 0);
    for (log, size) in logs {
        bytes += size;
        if bytes > ALL_MAX {
            break;
        }
        let part = store.read(log, 0..REPORT_JSON_MAX as u64).await?;
        if let Ok(report) = serde_json::from_slice(&part.bytes) {
            found.push((log.output(), report));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::{MemoryLogs, collect_notes, list_printed};

    const RUN: RunId = RunId(7);

    fn log(step: u32, attempt: u16) -> LogId {
        LogId::new(RUN, StepIx(step), attempt, 1)
    }

    fn report(tests: u32) -> TestReport {
        TestReport { tests, ..TestReport::default() }
    }

    async fn write(store: &MemoryLogs, log: LogId, report: &TestReport) {
        let json = serde_json::to_vec(report).expect("numbers can be written as JSON");
        store.append(log.tests(), 0, json).await.expect("it takes it");
    }

    #[tokio::test]
    async fn last_report_of_each_step_is_collected_and_all_of_one_step_are_listed() {
        let store = MemoryLogs::new();
        write(&store, log(0, 1), &report(1)).await;
        write(&store, log(0, 2), &report(2)).await;
        write(&store, log(3, 1), &report(3)).await;
        let last = collect_test_reports(&store, RUN).await;
        assert_eq!(last, Ok(vec![(log(0, 2), report(2)), (log(3, 1), report(3))]));
        let all = list_test_reports(&store, (RUN, StepIx(0))).await;
        assert_eq!(all, Ok(vec![(log(0, 1), report(1)), (log(0, 2), report(2))]));
        assert_eq!(list_test_reports(&store, (RUN, StepIx(1))).await, Ok(Vec::new()));
    }

    #[tokio::test]
    async fn reports_are_neither_output_nor_notes() {
        let store = MemoryLogs::new();
        write(&store, log(0, 1), &report(1)).await;
        assert_eq!(list_printed(&store, RUN).await, Ok(Vec::new()));
        assert_eq!(collect_notes(&store, RUN).await, Ok(Vec::new()));
    }

    #[tokio::test]
    async fn half_a_report_is_left_out() {
        let store = MemoryLogs::new();
        store.append(log(0, 1).tests(), 0, b"{\"tests\": 1".to_vec()).await.expect("it takes it");
        assert_eq!(collect_test_reports(&store, RUN).await, Ok(Vec::new()));
    }
}
