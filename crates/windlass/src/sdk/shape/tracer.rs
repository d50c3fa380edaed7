//! A deserializer without data, which records the requests of a type.

use std::fmt;

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};

use super::shape_notes::ShapeNotes;
use super::traced_parts::{TracedFields, TracedItems, TracedVariant};

/// Visits a type once and returns its shape.
pub(super) fn trace<T: DeserializeOwned>(notes: &mut ShapeNotes) -> String {
    let mut shape = String::new();
    notes.begin();
    // It fails where a type refuses an invented value.
    drop(T::deserialize(ShapeTracer { notes, shape: &mut shape }));
    shape
}

/// The type refused an invented value.
#[derive(Debug)]
pub(super) struct TraceRefused;

impl fmt::Display for TraceRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it takes no made-up value")
    }
}

impl std::error::Error for TraceRefused {}

impl de::Error for TraceRefused {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// A place in a type.
pub(super) struct ShapeTracer<'a> {
    pub(super) notes: &'a mut ShapeNotes,
    /// The text that receives the shape of this place.
    pub(super) shape: &'a mut String,
}

impl ShapeTracer<'_> {
    fn is(self, shape: &str) {
        shape.clone_into(self.shape);
    }

    /// Visits the content: `before`, its shape, `after`.
    fn inside<R>(
        self,
        (before, after): (&str, &str),
        trace: impl FnOnce(&mut ShapeNotes, &mut String) -> R,
    ) -> R {
        let mut inner = String::new();
        let looked = trace(self.notes, &mut inner);
        *self.shape = format!("{before}{inner}{after}");
        looked
    }

    /// Visits optional content, unless it contains an enclosing type. The argument of `look` says whether there is content.
    fn perhaps<R>(
        self,
        (before, after): (&str, &str),
        trace: impl FnOnce(&mut ShapeNotes, &mut String, bool) -> Result<R, TraceRefused>,
    ) -> Result<R, TraceRefused> {
        let ShapeTracer { notes, shape } = self;
        notes.at(&format!("{before}{after}"), |notes| {
            let known = notes.looped().cloned();
            let may_look = notes.may_look() && known.is_none();
            let looked = ShapeTracer { notes: &mut *notes, shape: &mut *shape }
                .inside((before, after), |notes, shape| trace(notes, shape, may_look));
            match known {
                Some(known) => *shape = known,
                None => notes.close(shape),
            }
            looked
        })
    }
}

macro_rules! leaf {
    ($($method:ident => $shape:literal, $visit:ident($($value:expr)?);)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceRefused> {
            self.is($shape);
            visitor.$visit($($value)?)
        }
    )*};
}

impl<'de> Deserializer<'de> for ShapeTracer<'_> {
    type Error = TraceRefused;

    leaf! {
        deserialize_any => "any", visit_unit();
        deserialize_ignored_any => "any", visit_unit();
        deserialize_bool => "bool", visit_bool(true);
        deserialize_i8 => "i8", visit_i8(1);
        deserialize_i16 => "i16", visit_i16(1);
        deserialize_i32 => "i32", visit_i32(1);
        deserialize_i64 => "i64", visit_i64(1);
        deserialize_i128 => "i128", visit_i128(1);
        deserialize_u8 => "u8", visit_u8(1);
        deserialize_u16 => "u16", visit_u16(1);
        deserialize_u32 => "u32", visit_u32(1);
        deserialize_u64 => "u64", visit_u64(1);
        deserialize_u128 => "u128", visit_u128(1);
        deserialize_f32 => "f32", visit_f32(1.0);
        deserialize_f64 => "f64", visit_f64(1.0);
        deserialize_char => "char", visit_char('1');
        deserialize_str => "string", visit_str("1");
        deserialize_string => "string", visit_string("1".to_owned());
        deserialize_bytes => "bytes", visit_bytes(b"1");
        deserialize_byte_buf => "bytes", visit_byte_buf(b"1".to_vec());
        deserialize_identifier => "string", visit_str("1");
        deserialize_unit => "()", visit_unit();
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceRefused> {
        self.perhaps(("", "?"), |notes, shape, may_look| {
            if may_look {
                visitor.visit_some(ShapeTracer { notes, shape })
            } else {
                visitor.visit_none()
            }
        })
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, TraceRefused> {
        self.is(name);
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, TraceRefused> {
        self.inside((&format!("{name}("), ")"), |notes, shape| {
            visitor.visit_newtype_struct(ShapeTracer { notes, shape })
        })
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceRefused> {
        self.perhaps(("[", "]"), |notes, shape, may_look| {
            visitor.visit_seq(TracedItems::new(notes, shape, usize::from(may_look)))
        })
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, TraceRefused> {
        self.inside(("(", ")"), |notes, shape| {
            visitor.visit_seq(TracedItems::new(notes, shape, count))
        })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, TraceRefused> {
        self.inside((&format!("{name}("), ")"), |notes, shape| {
            visitor.visit_seq(TracedItems::new(notes, shape, count))
        })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceRefused> {
        self.perhaps(("{", "}"), |notes, shape, may_look| {
            visitor.visit_map(TracedItems::new(notes, shape, usize::from(may_look)))
        })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TraceRefused> {
        self.shape.push_str(name);
        if !self.notes.may_look() || !self.notes.enters((name, fields)) {
            return Err(TraceRefused);
        }
        self.notes.within((name, fields), |notes| {
            visitor.visit_map(TracedFields { notes, name, left: fields, field: "" })
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TraceRefused> {
        self.shape.push_str(name);
        if !self.notes.may_look() {
            return Err(TraceRefused);
        }
        let variant = self.notes.variant((name, variants)).ok_or(TraceRefused)?;
        self.notes.within((name, variants), |notes| {
            visitor.visit_enum(TracedVariant { notes, of: name, name: variant })
        })
    }
}
