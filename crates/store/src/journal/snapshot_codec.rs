//! Encodes and decodes the state of an engine.
//!
//! A snapshot contains the state as it is in memory. A changed state is therefore another version, with an upcast as
//! for [events](super::batch_codec): a leader needs the snapshot if earlier events were pruned.

use windlass_core::engine::{Engine, EngineConfig};

use super::interface::JournalSnapshot;
use crate::db::StoreError;
use crate::db::frame_format::{FrameError, FrameFormat};

/// The versions of a snapshot.
const SNAPSHOT: FrameFormat = FrameFormat { content: "a snapshot", upcasts: &[] };

/// Encodes the state of an engine.
pub fn encode_state(engine: &Engine) -> Vec<u8> {
    let body =
        postcard::to_stdvec(engine).expect("the state is plain data, which always serializes");
    SNAPSHOT.encode(&body)
}

/// Decodes an engine, and gives it this configuration.
pub fn decode_state(bytes: &[u8], config: EngineConfig) -> Result<Engine, FrameError> {
    let body = SNAPSHOT.decode(bytes)?;
    let engine: Engine = postcard::from_bytes(&body)
        .map_err(|error| SNAPSHOT.damaged(&format!("cannot be read: {error}")))?;
    Ok(engine.with_config(config))
}

impl JournalSnapshot {
    /// Returns the engine of this snapshot; `None` if it is damaged, because a complete journal gives the same state.
    pub fn restore(&self, config: EngineConfig) -> Result<Option<Engine>, StoreError> {
        match decode_state(&self.state, config) {
            Ok(engine) => Ok(Some(engine)),
            Err(FrameError::Damaged(_)) => Ok(None),
            Err(newer @ FrameError::Newer { .. }) => {
                let (place, reason) = ("of this process".to_owned(), newer.to_string());
                Err(StoreError::Unusable { place, reason })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BatchId, Position};
    use super::*;

    /// A made-up later version.
    const LATER: FrameFormat =
        FrameFormat { content: SNAPSHOT.content, upcasts: &[|body| Ok(body.to_vec())] };

    fn restore(state: Vec<u8>) -> Result<Option<Engine>, StoreError> {
        let snapshot = JournalSnapshot { position: Position(7), batch: BatchId(1), state };
        snapshot.restore(EngineConfig::default())
    }

    #[test]
    fn damaged_snapshot_is_ignored_and_one_of_a_later_version_is_refused() {
        let state = encode_state(&Engine::new(EngineConfig::default()));
        assert!(matches!(restore(state.clone()), Ok(Some(_))));
        assert!(matches!(restore(state[1..].to_vec()), Ok(None)));
        let error = restore(LATER.encode(b"a later state")).unwrap_err();
        assert!(error.to_string().contains("a snapshot has version 2"), "{error}");
    }
}
