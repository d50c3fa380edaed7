//! Objects over HTTP: a client sends and fetches files through a controller.
//!
//! ```text
//!  POST /objects/missing             ids ─► those that are not there        POST /objects/batch   small objects
//!  GET  /objects/{id}/upload         ─► the size of an upload               POST /objects/fetch   ids ─► small objects
//!  POST /objects/{id}/upload?at=N    the next piece of it                   GET  /objects/{id}    a range of an object
//!  POST /objects/{id}/finish?size=N  the upload becomes the object
//! ```
//!
//! Each body with bytes is verified where it arrives: objects by their ids, a piece of an upload and a range of an object
//! by the hash in `windlass-piece`. [`HttpObjects`] repeats what failed for a passing reason, within one deadline. Before it
//! sends bytes again, it asks which of them are there.
//!
//! | file | content |
//! |---|---|
//! | `http_objects` | [`ObjectStore`](windlass_store::objects::ObjectStore) over HTTP |
//! | `object_caller` | requests, and their repetition |
//! | `refusal` | what the refusal of a controller means |
//! | `frames` | the bodies |

mod frames;
#[cfg(test)]
mod frames_tests;
mod http_objects;
mod object_caller;
mod refusal;

pub use frames::{
    IDS_BODY_MAX, OBJECTS_BODY_MAX, ObjectFrameError, decode_ids, decode_objects, encode_ids,
    encode_objects,
};
pub use http_objects::HttpObjects;
