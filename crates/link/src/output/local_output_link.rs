//! The output link to a leader in the same process: its log store.

use std::sync::Arc;

use windlass_store::db::StoreError;
use windlass_store::logs::{LogId, LogPart, LogStore, READ_MAX};

use super::log_chunk::{LogChunk, LogChunksReply};
use super::shipper::OutputLink;
use crate::{LinkError, LinkFuture};

/// Transfers nothing: the logs are already at the leader.
#[derive(Debug)]
pub struct LocalOutputLink(pub Arc<dyn LogStore>);

impl LocalOutputLink {
    async fn append(&self, piece: LogChunk) -> Result<Option<u64>, LinkError> {
        match self.0.append(piece.log, piece.at, piece.bytes).await {
            Ok(size) => Ok(Some(size)),
            Err(StoreError::Gap { head, .. }) => Ok(Some(head.0)),
            Err(error) => Err(failed(&error)),
        }
    }
}

impl OutputLink for LocalOutputLink {
    fn ship(&self, pieces: Vec<LogChunk>) -> LinkFuture<'_, LogChunksReply> {
        Box::pin(async move {
            let mut sizes = Vec::with_capacity(pieces.len());
            for piece in pieces {
                sizes.push(self.append(piece).await?);
            }
            Ok(LogChunksReply { sizes, credit: READ_MAX })
        })
    }

    fn fetch(&self, value: LogId, from: u64) -> LinkFuture<'_, LogPart> {
        Box::pin(async move {
            let read = self.0.read(value, from..from.saturating_add(READ_MAX as u64)).await;
            read.map_err(|error| failed(&error))
        })
    }
}

fn failed(error: &StoreError) -> LinkError {
    LinkError::Unreachable { place: "this node".to_owned(), reason: error.to_string() }
}
