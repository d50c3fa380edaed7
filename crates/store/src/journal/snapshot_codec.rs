//! The bytes of a snapshot.
//!
//! Unlike those of a batch they are the engine's state as it is, so they mean something to versions that have the same
//! state only. A changed state is a new version; the golden snapshot in the tests shows a change that was not meant.

use windlass_core::engine::{Engine, EngineConfig};

use crate::db::checksum_frame;

const VERSION: u8 = 7;

/// The bytes of an engine's state.
pub fn encode_state(engine: &Engine) -> Vec<u8> {
    let body = postcard::to_stdvec(engine)
        .expect("the state is plain data: nothing in it can refuse to be written");
    checksum_frame::encode_frame(VERSION, &body)
}

/// An engine with the state of these bytes, or what is wrong with them.
pub fn decode_state(bytes: &[u8], config: EngineConfig) -> Result<Engine, String> {
    let body = checksum_frame::decode_frame("a snapshot", VERSION, bytes)?;
    let engine: Engine = postcard::from_bytes(body)
        .map_err(|error| format!("a snapshot that cannot be read: {error}"))?;
    Ok(engine.with_config(config))
}
