//! YAML as a tree that knows where everything stands in the file.
//!
//! Parser events become [`Node`]s ([`build`]); what YAML allows and a pipeline does not (tags, a second document, keys that
//! are no text) is told here. A file that is no YAML is looked at once more for the slips that people make ([`syntax_diagnosis`]); a
//! slip whose correction is certain is mended in memory ([`repair`]), so that the rest of the file is checked too.

mod build;
mod node;
mod repair;
mod syntax_diagnosis;

pub(crate) use build::build_yaml_tree;
pub(crate) use node::{YamlEntry, YamlKey, YamlNode, YamlQuoting, YamlScalar, YamlValue};
pub(crate) use repair::RepairedSource;
pub(crate) use syntax_diagnosis::quoted_scalar;
