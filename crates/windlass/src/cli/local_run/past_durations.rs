//! How long the steps of a pipeline took before. Nobody waits for it: a run begins at once, and learns it while it runs.

use tokio::sync::mpsc;
use windlass_core::summary::StepDurations;

use crate::embedded::{StoreReader, Stores};

/// Reads it in the background. Nothing comes if nothing is known.
pub(super) fn past_durations(stores: &Stores, pipeline: &str) -> mpsc::Receiver<StepDurations> {
    let (sender, receiver) = mpsc::channel(1);
    let (stores, pipeline) = (stores.clone(), pipeline.to_owned());
    tokio::spawn(async move {
        // A guess that cannot be made is not missed.
        let Ok(records) = StoreReader::read(stores).await else { return };
        let Ok(known) = records.durations(&pipeline).await else { return };
        if !known.is_empty() {
            drop(sender.try_send(known));
        }
    });
    receiver
}
