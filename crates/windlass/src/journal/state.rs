//! The bytes of a snapshot.
//!
//! Unlike those of a batch they are the engine's state as it is, so they mean something to versions that have the same
//! state only. Each version of them that was ever released stays readable: a changed state is a new version, and the
//! golden snapshot in the tests shows when that was forgotten.

use std::borrow::Cow;

use windlass_core::access::{Acts, Keyring};
use windlass_core::engine::{Config, Engine};

use crate::store::frame;

const VERSION: u8 = 2;

/// Before there were tokens, workers' credentials and acts, which stand behind everything else.
const WITHOUT_ACCESS: u8 = 1;

/// The bytes of an engine's state.
pub fn encode_state(engine: &Engine) -> Vec<u8> {
    let body = postcard::to_stdvec(engine)
        .expect("the state is plain data: nothing in it can refuse to be written");
    frame::close(VERSION, &body)
}

/// An engine with the state of these bytes, or what is wrong with them.
pub fn decode_state(bytes: &[u8], config: Config) -> Result<Engine, String> {
    let body = match bytes.first() {
        Some(&WITHOUT_ACCESS) => with_access(frame::open("a snapshot", WITHOUT_ACCESS, bytes)?),
        _ => frame::open("a snapshot", VERSION, bytes)?.into(),
    };
    let engine: Engine = postcard::from_bytes(&body)
        .map_err(|error| format!("a snapshot that cannot be read: {error}"))?;
    Ok(engine.with_config(config))
}

/// A state of version 1 as one of version 2: fields stand one behind the other, and those that were added are empty.
fn with_access(body: &[u8]) -> Cow<'static, [u8]> {
    let none = postcard::to_stdvec(&(Keyring::default(), Acts::default()))
        .expect("nothing in it can refuse to be written");
    [body, &none].concat().into()
}
