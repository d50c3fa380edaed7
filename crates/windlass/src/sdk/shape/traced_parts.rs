//! The content of lists, structs and variants.

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::shape_notes::ShapeNotes;
use super::tracer::{ShapeTracer, TraceRefused};

/// Items of a list or a tuple, or entries of a map.
pub(super) struct TracedItems<'a> {
    notes: &'a mut ShapeNotes,
    shape: &'a mut String,
    /// The number of items left.
    count: usize,
    /// The number of items visited.
    seen: usize,
}

impl<'a> TracedItems<'a> {
    pub(super) const fn new(
        notes: &'a mut ShapeNotes,
        shape: &'a mut String,
        count: usize,
    ) -> Self {
        Self { notes, shape, count, seen: 0 }
    }

    fn next<'de, T: DeserializeSeed<'de>>(
        &mut self,
        separator: &str,
        seed: T,
    ) -> Result<T::Value, TraceRefused> {
        let mut item = String::new();
        let read = self.notes.at(&format!(".{}", self.seen), |notes| {
            seed.deserialize(ShapeTracer { notes, shape: &mut item })
        });
        self.seen += 1;
        if !self.shape.is_empty() {
            self.shape.push_str(separator);
        }
        self.shape.push_str(&item);
        read
    }
}

impl<'de> SeqAccess<'de> for TracedItems<'_> {
    type Error = TraceRefused;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, TraceRefused> {
        if self.count == 0 {
            return Ok(None);
        }
        self.count -= 1;
        self.next(", ", seed).map(Some)
    }
}

impl<'de> MapAccess<'de> for TracedItems<'_> {
    type Error = TraceRefused;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, TraceRefused> {
        if self.count == 0 {
            return Ok(None);
        }
        self.count -= 1;
        self.next("", seed).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, TraceRefused> {
        self.next(": ", seed)
    }
}

/// Fields of a struct.
pub(super) struct TracedFields<'a> {
    pub(super) notes: &'a mut ShapeNotes,
    pub(super) name: &'static str,
    pub(super) left: &'static [&'static str],
    pub(super) field: &'static str,
}

impl<'de> MapAccess<'de> for TracedFields<'_> {
    type Error = TraceRefused;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, TraceRefused> {
        let Some((field, left)) = self.left.split_first() else { return Ok(None) };
        (self.field, self.left) = (field, left);
        let key: StrDeserializer<'_, TraceRefused> = (*field).into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, TraceRefused> {
        let mut shape = String::new();
        let read = self.notes.at(&format!(".{}", self.field), |notes| {
            seed.deserialize(ShapeTracer { notes, shape: &mut shape })
        });
        let known = self.notes.structs.entry(self.name.to_owned()).or_default();
        known.insert(self.field.to_owned(), shape);
        read
    }
}

/// A variant of an enum.
pub(super) struct TracedVariant<'a> {
    pub(super) notes: &'a mut ShapeNotes,
    pub(super) of: &'static str,
    pub(super) name: &'static str,
}

impl TracedVariant<'_> {
    /// Visits its content: `before`, the shape, `after`.
    fn inside<R>(
        self,
        (before, after): (&str, &str),
        trace: impl FnOnce(&mut ShapeNotes, &mut String) -> Result<R, TraceRefused>,
    ) -> Result<R, TraceRefused> {
        let mut shape = String::new();
        let read = self.notes.at(&format!("::{}", self.name), |notes| trace(notes, &mut shape));
        self.notes.saw(self.of, self.name, format!("{before}{shape}{after}"), read.is_ok());
        read
    }
}

impl<'de> EnumAccess<'de> for TracedVariant<'_> {
    type Error = TraceRefused;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self), TraceRefused> {
        let name: StrDeserializer<'_, TraceRefused> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for TracedVariant<'_> {
    type Error = TraceRefused;

    fn unit_variant(self) -> Result<(), TraceRefused> {
        self.inside(("", ""), |_, _| Ok(()))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, TraceRefused> {
        self.inside(("(", ")"), |notes, shape| seed.deserialize(ShapeTracer { notes, shape }))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, TraceRefused> {
        self.inside(("(", ")"), |notes, shape| {
            visitor.visit_seq(TracedItems::new(notes, shape, count))
        })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TraceRefused> {
        self.inside((" { ", " }"), |notes, shape| {
            visitor.visit_map(TracedVariantFields { notes, shape, left: fields, field: "" })
        })
    }
}

/// Fields of a variant.
struct TracedVariantFields<'a> {
    notes: &'a mut ShapeNotes,
    shape: &'a mut String,
    left: &'static [&'static str],
    field: &'static str,
}

impl<'de> MapAccess<'de> for TracedVariantFields<'_> {
    type Error = TraceRefused;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, TraceRefused> {
        let Some((field, left)) = self.left.split_first() else { return Ok(None) };
        (self.field, self.left) = (field, left);
        if !self.shape.is_empty() {
            self.shape.push_str(", ");
        }
        self.shape.push_str(field);
        let key: StrDeserializer<'_, TraceRefused> = (*field).into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, TraceRefused> {
        let mut value = String::new();
        let read = self.notes.at(&format!(".{}", self.field), |notes| {
            seed.deserialize(ShapeTracer { notes, shape: &mut value })
        });
        self.shape.push_str(": ");
        self.shape.push_str(&value);
        read
    }
}
