//! Processes that stay: a controller, a worker that joins one, and both at once for trying things out.
//!
//! `serve` leads a store and answers its API; `work` joins a cluster; `dev` is a controller with worker processes of its
//! own. `seat` has its stores and its node, `own` is the worker of a controller that shares its store; `approach` is how a
//! worker comes to its leader, `mail` how a controller is reached by letters. `chronicle` and `told` say what goes on,
//! `unsent` what a worker could not send, and `ends` hears when it is to end.

mod approach;
mod chronicle;
mod dev;
mod doors;
mod ends;
#[cfg(feature = "postgres")]
mod found;
mod mail;
mod own;
mod post;
mod reaching;
mod seat;
mod serve;
mod token;
mod told;
mod unsent;
mod work;

pub(crate) use approach::Join;
pub(crate) use dev::{Dev, dev, token_for_workers};
pub(crate) use doors::TlsPaths;
pub(crate) use mail::MailPlace;
pub(crate) use serve::{Runs, Serve, serve};
pub(crate) use token::read as read_token;
pub(crate) use work::{Joined, NotJoined, Work, work};
