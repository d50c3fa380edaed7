//! The load of a controller with idle workers.

use std::slice::from_ref;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;

use super::controller::{ClusterSite, ControllerProcess};
use crate::observer::{ObserverExecutor, ObserverWorkers};
use crate::table::{RowTarget, TableRow};

/// The number of idle workers, and the time that they have to settle.
const IDLE: u32 = 1_000;
const SETTLE: Duration = Duration::from_secs(8);

pub(super) fn idle(site: &ClusterSite, runtime: &Runtime, seconds: Duration) -> Vec<TableRow> {
    let controller = ControllerProcess::start(site);
    let mut hands = ObserverWorkers::new();
    let (notes, _) = ObserverExecutor::new();
    let notes: Arc<ObserverExecutor> = Arc::new(notes);
    let used = runtime.block_on(async {
        for _ in 0..IDLE {
            hands.join(from_ref(&controller.address), "idle", Arc::clone(&notes) as _);
        }
        tokio::time::sleep(SETTLE).await;
        let before = controller.process.seconds();
        tokio::time::sleep(seconds).await;
        controller.process.seconds() - before
    });
    let (cpu, memory) = (used * 100.0 / seconds.as_secs_f64(), controller.process.memory());
    let detail = format!("over {} s", seconds.as_secs());
    let more = format!("at most {:.1} so far", controller.process.peak_memory());
    let row = |what: &str, value, unit, detail, most| TableRow {
        name: format!("{}: {IDLE} idle workers, {what}", site.name),
        best: value,
        median: value,
        unit,
        detail,
        target: RowTarget::AtMost(most),
    };
    runtime.block_on(hands.end());
    vec![
        row("CPU of the controller", cpu, "% of a core", detail, 5.0),
        row("RSS of the controller", memory, "MiB", more, 64.0),
    ]
}
