//! The shape of a type, written out.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;

use super::notes::Notes;
use super::tracer::trace;

/// Passes over a type: one for each variant of its largest enum, more where enums are inside of enums, and one for each
/// place that leads back to what it is in.
const PASSES_MAX: usize = 256;

/// What a type looks like to serde.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The type itself: `Image`, `u64`, `[string]`.
    root: String,
    /// The structs and enums in it, by name.
    named: BTreeMap<String, String>,
    /// The names of its fields, if it is a struct.
    fields: Vec<String>,
}

impl Shape {
    /// The shape of a type.
    pub fn of<T: DeserializeOwned>() -> Self {
        let mut notes = Notes::default();
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

    /// The names of its fields, if it is a struct.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }
}

/// On one line: the type, and then what the names in it stand for.
impl fmt::Display for Shape {
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
    #[expect(dead_code, reason = "only its shape is looked at")]
    struct Image {
        tag: String,
        layers: Vec<Layer>,
        built: Option<Built>,
        notes: BTreeMap<String, (u8, bool)>,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its shape is looked at")]
    struct Layer {
        size: u64,
        below: Option<Box<Layer>>,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its shape is looked at")]
    enum Built {
        Never,
        By(String),
        At { day: u16, how: How },
    }

    #[derive(Deserialize)]
    enum How {
        Fast,
        Slow,
    }

    #[test]
    fn a_shape_has_every_field_and_variant() {
        let shape = Shape::of::<Image>();
        assert_eq!(shape.fields(), ["tag", "layers", "built", "notes"]);
        insta::assert_snapshot!(shape.to_string(), @"Image { built: Built?, layers: [Layer], notes: {string: (u8, bool)}, tag: string }; Built = At { day: u16, how: How } | By(string) | Never; How = Fast | Slow; Layer { below: Layer?, size: u64 }");
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its shape is looked at")]
    struct Branch {
        a: Option<Box<Branch>>,
        b: Option<Box<Branch>>,
        c: Vec<Branch>,
        d: BTreeMap<String, Branch>,
        e: Option<Box<Branch>>,
        f: Option<Box<Branch>>,
        g: (Option<Box<Branch>>, Option<Box<Branch>>),
        h: Box<Tree>,
        weight: u64,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its shape is looked at")]
    enum Tree {
        Grown(Branch, u16),
        Both(Box<Tree>, Box<Tree>),
        Wood { parts: Vec<Tree>, age: u32 },
        Leaf,
    }

    #[test]
    fn types_inside_of_themselves_are_seen_whole_however_they_are_met() {
        let layer = "Layer { below: Layer?, size: u64 }";
        assert_eq!(Shape::of::<Layer>().to_string(), layer);
        assert_eq!(Shape::of::<Vec<Layer>>().to_string(), format!("[Layer]; {layer}"));
        assert_eq!(Shape::of::<Option<Vec<Layer>>>().to_string(), format!("[Layer]?; {layer}"));
        let branch = "Branch { a: Branch?, b: Branch?, c: [Branch], d: {string: Branch}, e: Branch?, f: Branch?, \
                      g: (Branch?, Branch?), h: Tree, weight: u64 }";
        let tree = "Tree = Both(Tree, Tree) | Grown(Branch, u16) | Leaf | Wood { parts: [Tree], age: u32 }";
        assert_eq!(Shape::of::<Branch>().to_string(), format!("{branch}; {tree}"));
        assert_eq!(Shape::of::<Tree>().to_string(), format!("{tree}; {branch}"));
    }

    #[test]
    fn what_is_no_struct_is_written_out() {
        let shapes = [
            Shape::of::<()>(),
            Shape::of::<u32>(),
            Shape::of::<Vec<String>>(),
            Shape::of::<serde_json::Value>(),
            Shape::of::<std::net::IpAddr>(),
        ];
        let texts = shapes.map(|shape| shape.to_string());
        assert_eq!(texts, ["()", "u32", "[string]", "any", "string"]);
    }
}
