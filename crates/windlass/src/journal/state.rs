//! The bytes of a snapshot.
//!
//! Unlike those of a batch they are the engine's state as it is, so they mean something to versions that have the same
//! state only. Each version of them that was ever released stays readable: a changed state is a new version, and the
//! golden snapshot in the tests shows when that was forgotten.

use std::borrow::Cow;

use serde::Serialize;
use windlass_core::access::{Acts, Keyring};
use windlass_core::engine::{Config, Engine};
use windlass_core::once::Ledger;

use crate::store::frame;

const VERSION: u8 = 3;

/// Before there were tokens, workers' credentials and acts, which stand behind everything else.
const WITHOUT_ACCESS: u8 = 1;

/// Before there were keys of what is done once, which stand behind that.
const WITHOUT_LEDGER: u8 = 2;

/// The bytes of an engine's state.
pub fn encode_state(engine: &Engine) -> Vec<u8> {
    let body = postcard::to_stdvec(engine)
        .expect("the state is plain data: nothing in it can refuse to be written");
    frame::close(VERSION, &body)
}

/// An engine with the state of these bytes, or what is wrong with them.
pub fn decode_state(bytes: &[u8], config: Config) -> Result<Engine, String> {
    let body = match bytes.first() {
        Some(&WITHOUT_ACCESS) => {
            let body = frame::open("a snapshot", WITHOUT_ACCESS, bytes)?;
            behind(body, &(Keyring::default(), Acts::default(), Ledger::default()))
        }
        Some(&WITHOUT_LEDGER) => {
            behind(frame::open("a snapshot", WITHOUT_LEDGER, bytes)?, &Ledger::default())
        }
        _ => frame::open("a snapshot", VERSION, bytes)?.into(),
    };
    let engine: Engine = postcard::from_bytes(&body)
        .map_err(|error| format!("a snapshot that cannot be read: {error}"))?;
    Ok(engine.with_config(config))
}

/// A state of an earlier version as one of this: fields stand one behind the other, and those that were added are empty.
fn behind<T: Serialize>(body: &[u8], added: &T) -> Cow<'static, [u8]> {
    let added = postcard::to_stdvec(added).expect("nothing in it can refuse to be written");
    [body, &added].concat().into()
}
