//! What commands that read runs have in common: where they look, and what they can ask there.
//!
//! ```text
//!  command ──► Reading ──► Source ──┬──► Local    a store in a folder, beside whoever writes to it
//!                                   └──► Remote   a controller, over its API
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | `origin` | where a command looks: arguments, variables, what was saved, the folder |
//! | `saved` | the controller that was saved for later commands |
//! | `controller` | requests to a controller, and what its refusals mean here |
//! | `desk` | whoever decides on what is no run: tokens, workers, locks |
//! | `source` | the seam: all that can be asked of runs, wherever they are |
//! | `local`, `remote` | its two sides |
//! | `patience` | asks again while a source is away |
//! | `reading` | the questions of commands, one after the other |

mod controller;
mod desk;
mod local;
mod origin;
mod patience;
#[expect(clippy::module_inception, reason = "a file is named by the noun that it defines")]
mod reading;
mod remote;
mod saved;
mod search;
mod source;

pub(crate) use controller::{Controller, moment_of, segment};
pub(crate) use desk::Desk;
pub(crate) use local::Local;
pub(crate) use origin::{
    ControllerArgs, Origin, OriginArgs, folder, nobody_to_ask, root, said, store_flag,
};
pub(crate) use patience::persist;
pub(crate) use reading::{Reading, runtime, step};
pub(crate) use remote::Remote;
pub(crate) use saved::Saved;
pub(crate) use source::{Known, Listed, Page, Source, tail};
