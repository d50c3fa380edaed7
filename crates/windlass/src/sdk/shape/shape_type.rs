//! The shape of a type as text.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;

use super::shape_notes::ShapeNotes;
use super::tracer::trace;

/// The maximum number of passes over a type. A type needs one for each variant of its largest enum, more for nested enums,
/// and one for each place where it contains itself.
const PASSES_MAX: usize = 256;

/// The shape of a type as serde sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeShape {
    /// The type itself: `Image`, `u64`, `[string]`.
    root: String,
    /// The structs and enums in the type, by name.
    named: BTreeMap<String, String>,
    /// The names of the fields of a struct.
    fields: Vec<String>,
}

impl TypeShape {
    /// The shape of a type.
    pub fn of<T: DeserializeOwned>() -> Self {
        let mut notes = ShapeNotes::default();
        let mut root = trace::<T>(&mut notes);
        for _ in 0..PASSES_MAX {
            if !notes.is_incomplete() {
                break;
            }
            root = trace::<T>(&mut notes);
        }
        let (named, structs) = notes.named();
        let fields = structs.get(&root).cloned().unwrap_or_default();
        Self { root, named, fields }
    }

    /// The names of the fields of a struct.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }
}

/// One line: the type, then the definitions of the names in it.
impl fmt::Display for TypeShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.named.get(&self.root) {
            Some(body) => write!(f, "{}{body}", self.root)?,
            None => f.write_str(&self.root)?,
        }
        let others = self.named.iter().filter(|(name, _)| **name != self.root);
        others.into_iter().try_for_each(|(name, body)| write!(f, "; {name}{body}"))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its shape is read")]
    struct ImageSample {
        tag: String,
        layers: Vec<LayerSample>,
        built: Option<BuiltSample>,
        notes: BTreeMap<String, (u8, bool)>,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its shape is read")]
    struct LayerSample {
        size: u64,
        below: Option<Box<LayerSample>>,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its shape is read")]
    enum BuiltSample {
        Never,
        By(String),
        At { day: u16, how: SpeedSample },
    }

    #[derive(Deserialize)]
    enum SpeedSample {
        Fast,
        Slow,
    }

    #[test]
    fn a_shape_has_every_field_and_variant() {
        let shape = TypeShape::of::<ImageSample>();
        assert_eq!(shape.fields(), ["tag", "layers", "built", "notes"]);
        insta::assert_snapshot!(shape.to_string(), @"ImageSample { built: BuiltSample?, layers: [LayerSample], notes: {string: (u8, bool)}, tag: string }; BuiltSample = At { day: u16, how: SpeedSample } | By(string) | Never; LayerSample { below: LayerSample?, size: u64 }; SpeedSample = Fast | Slow");
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its shape is read")]
    struct BranchSample {
        a: Option<Box<BranchSample>>,
        b: Option<Box<BranchSample>>,
        c: Vec<BranchSample>,
        d: BTreeMap<String, BranchSample>,
        e: Option<Box<BranchSample>>,
        f: Option<Box<BranchSample>>,
        g: (Option<Box<BranchSample>>, Option<Box<BranchSample>>),
        h: Box<TreeSample>,
        weight: u64,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its shape is read")]
    enum TreeSample {
        Grown(BranchSample, u16),
        Both(Box<TreeSample>, Box<TreeSample>),
        Wood { parts: Vec<TreeSample>, age: u32 },
        Leaf,
    }

    #[test]
    fn recursive_types_get_a_complete_shape_from_any_entry() {
        let layer = "LayerSample { below: LayerSample?, size: u64 }";
        assert_eq!(TypeShape::of::<LayerSample>().to_string(), layer);
        assert_eq!(
            TypeShape::of::<Vec<LayerSample>>().to_string(),
            format!("[LayerSample]; {layer}")
        );
        assert_eq!(
            TypeShape::of::<Option<Vec<LayerSample>>>().to_string(),
            format!("[LayerSample]?; {layer}")
        );
        let branch = "BranchSample { a: BranchSample?, b: BranchSample?, c: [BranchSample], \
                      d: {string: BranchSample}, e: BranchSample?, f: BranchSample?, \
                      g: (BranchSample?, BranchSample?), h: TreeSample, weight: u64 }";
        let tree = "TreeSample = Both(TreeSample, TreeSample) | Grown(BranchSample, u16) | Leaf | \
                    Wood { parts: [TreeSample], age: u32 }";
        assert_eq!(TypeShape::of::<BranchSample>().to_string(), format!("{branch}; {tree}"));
        assert_eq!(TypeShape::of::<TreeSample>().to_string(), format!("{tree}; {branch}"));
    }

    #[test]
    fn shape_of_a_type_without_name_is_inline() {
        let shapes = [
            TypeShape::of::<()>(),
            TypeShape::of::<u32>(),
            TypeShape::of::<Vec<String>>(),
            TypeShape::of::<serde_json::Value>(),
            TypeShape::of::<std::net::IpAddr>(),
        ];
        let texts = shapes.map(|shape| shape.to_string());
        assert_eq!(texts, ["()", "u32", "[string]", "any", "string"]);
    }
}
