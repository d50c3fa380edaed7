//! YAML as a tree that knows where everything stands in the file.
//!
//! Parser events become [`Node`]s ([`build`]); what YAML allows and a pipeline does not (tags, a second document, keys that
//! are no text) is told here. A file that is no YAML is looked at once more for the slips that people make ([`slips`]); a
//! slip whose correction is certain is mended in memory ([`mend`]), so that the rest of the file is checked too.

mod build;
mod mend;
mod node;
mod slips;

pub(crate) use build::build;
pub(crate) use mend::Mended;
pub(crate) use node::{Entry, Key, Node, Quote, Scalar, Value};
pub(crate) use slips::quoted;
