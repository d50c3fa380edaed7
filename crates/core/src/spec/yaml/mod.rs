//! YAML as a tree with the location of every node.
//!
//! [`build`] turns parser events into [`YamlNode`]s and reports valid YAML that a pipeline does not allow: tags, a second
//! document, keys that are not strings. For invalid YAML, [`syntax_diagnosis`] finds the likely mistake. [`repair`] fixes
//! mistakes with a certain correction in memory, so that the rest of the file is checked too.

mod build;
mod node;
mod repair;
mod syntax_diagnosis;

pub(crate) use build::build_yaml_tree;
pub(crate) use node::{YamlEntry, YamlKey, YamlNode, YamlQuoting, YamlScalar, YamlValue};
pub(crate) use repair::RepairedSource;
pub(crate) use syntax_diagnosis::quoted_scalar;
