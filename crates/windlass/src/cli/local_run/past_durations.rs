//! Past durations of a pipeline's steps. The run does not wait for them: they arrive while it runs.

use tokio::sync::mpsc;
use windlass_core::summary::StepDurations;

use crate::embedded::{StoreReader, Stores};

/// Reads them in the background. Sends nothing if none are known.
pub(super) fn past_durations(stores: &Stores, pipeline: &str) -> mpsc::Receiver<StepDurations> {
    let (sender, receiver) = mpsc::channel(1);
    let (stores, pipeline) = (stores.clone(), pipeline.to_owned());
    tokio::spawn(async move {
        // An estimate is optional.
        let Ok(records) = StoreReader::read(stores).await else { return };
        let Ok(known) = records.durations(&pipeline).await else { return };
        if !known.is_empty() {
            drop(sender.try_send(known));
        }
    });
    receiver
}
