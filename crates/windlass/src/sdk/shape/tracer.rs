//! A source of data that has none, and notes what it is asked for.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};

/// How deep types are looked into: recursive ones have no end.
const DEPTH_MAX: usize = 24;

/// What has been asked for so far.
#[derive(Debug, Default)]
pub(super) struct Notes {
    structs: BTreeMap<String, BTreeMap<String, String>>,
    /// The fields of structs in their order.
    orders: BTreeMap<String, Vec<String>>,
    /// Variants by the name of their enum, with what is in each once that was seen.
    enums: BTreeMap<String, BTreeMap<String, Option<String>>>,
    /// How often an enum is being looked at, inside of itself.
    depth: usize,
}

impl Notes {
    pub(super) fn has_unseen_variants(&self) -> bool {
        self.enums.values().flat_map(BTreeMap::values).any(Option::is_none)
    }

    /// Everything that has a name, written out; and the fields of structs.
    pub(super) fn named(self) -> (BTreeMap<String, String>, BTreeMap<String, Vec<String>>) {
        let fields = |(name, fields): (String, BTreeMap<String, String>)| {
            let fields: Vec<String> =
                fields.iter().map(|(field, shape)| format!("{field}: {shape}")).collect();
            (name, format!(" {{ {} }}", fields.join(", ")))
        };
        let variants = |(name, variants): (String, BTreeMap<String, Option<String>>)| {
            let variants: Vec<String> = variants
                .iter()
                .map(|(variant, inside)| format!("{variant}{}", inside.as_deref().unwrap_or("")))
                .collect();
            (name, format!(" = {}", variants.join(" | ")))
        };
        let structs = self.structs.into_iter().map(fields);
        let named = structs.chain(self.enums.into_iter().map(variants)).collect();
        (named, self.orders)
    }
}

/// Reads a type once, and returns what it is.
pub(super) fn trace<T: DeserializeOwned>(notes: &mut Notes) -> String {
    let mut shape = String::new();
    notes.depth = 0;
    // It fails where a type does not take what was made up.
    drop(T::deserialize(Tracer { notes, shape: &mut shape }));
    shape
}

/// The type refused what was made up.
#[derive(Debug)]
pub(super) struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it takes no made-up value")
    }
}

impl std::error::Error for Refused {}

impl de::Error for Refused {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// One place of a type.
struct Tracer<'a> {
    notes: &'a mut Notes,
    /// Where what is here is written to.
    shape: &'a mut String,
}

impl Tracer<'_> {
    fn is_deep(&self) -> bool {
        self.notes.depth > DEPTH_MAX
    }

    fn is(self, shape: &str) {
        shape.clone_into(self.shape);
    }

    /// Looks at what is inside: `before`, the shape of it, `after`.
    fn inside<R>(
        self,
        (before, after): (&str, &str),
        look: impl FnOnce(&mut Notes, &mut String) -> R,
    ) -> R {
        let mut inner = String::new();
        self.notes.depth += 1;
        let looked = look(self.notes, &mut inner);
        self.notes.depth -= 1;
        *self.shape = format!("{before}{inner}{after}");
        looked
    }
}

macro_rules! leaf {
    ($($method:ident => $shape:literal, $visit:ident($($value:expr)?);)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
            self.is($shape);
            visitor.$visit($($value)?)
        }
    )*};
}

impl<'de> Deserializer<'de> for Tracer<'_> {
    type Error = Refused;

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

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        if self.is_deep() {
            self.is("…?");
            return visitor.visit_none();
        }
        self.inside(("", "?"), |notes, shape| visitor.visit_some(Tracer { notes, shape }))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.is(name);
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        if self.is_deep() {
            return Err(Refused);
        }
        self.inside((&format!("{name}("), ")"), |notes, shape| {
            visitor.visit_newtype_struct(Tracer { notes, shape })
        })
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        let count = usize::from(!self.is_deep());
        self.inside(("[", "]"), |notes, shape| visitor.visit_seq(Items { notes, shape, count }))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.inside(("(", ")"), |notes, shape| visitor.visit_seq(Items { notes, shape, count }))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.inside((&format!("{name}("), ")"), |notes, shape| {
            visitor.visit_seq(Items { notes, shape, count })
        })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        let count = usize::from(!self.is_deep());
        self.inside(("{", "}"), |notes, shape| visitor.visit_map(Items { notes, shape, count }))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.shape.push_str(name);
        if self.is_deep() {
            return Err(Refused);
        }
        let known = self.notes.structs.entry(name.to_owned()).or_default();
        for field in fields {
            known.entry((*field).to_owned()).or_insert_with(|| "?".to_owned());
        }
        let order = fields.iter().map(|field| (*field).to_owned()).collect();
        self.notes.orders.insert(name.to_owned(), order);
        self.notes.depth += 1;
        let read = visitor.visit_map(Fields { notes: self.notes, name, left: fields, field: "" });
        self.notes.depth -= 1;
        read
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.shape.push_str(name);
        if self.is_deep() {
            return Err(Refused);
        }
        let known = self.notes.enums.entry(name.to_owned()).or_default();
        for variant in variants {
            known.entry((*variant).to_owned()).or_default();
        }
        let unseen = variants.iter().find(|variant| known[**variant].is_none());
        let variant = unseen.or_else(|| variants.first()).ok_or(Refused)?;
        // Seen from now on, also if it refuses: inside of itself another one is looked at.
        known.entry((*variant).to_owned()).or_default().get_or_insert_default();
        self.notes.depth += 1;
        let read = visitor.visit_enum(Variant { notes: &mut *self.notes, of: name, name: variant });
        self.notes.depth -= 1;
        read
    }
}

/// Items of a list or a tuple, or entries of a map.
struct Items<'a> {
    notes: &'a mut Notes,
    shape: &'a mut String,
    count: usize,
}

impl Items<'_> {
    fn next<'de, T: DeserializeSeed<'de>>(
        &mut self,
        separator: &str,
        seed: T,
    ) -> Result<T::Value, Refused> {
        let mut item = String::new();
        let read = seed.deserialize(Tracer { notes: self.notes, shape: &mut item });
        if !self.shape.is_empty() {
            self.shape.push_str(separator);
        }
        self.shape.push_str(&item);
        read
    }
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Refused;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Refused> {
        if self.count == 0 {
            return Ok(None);
        }
        self.count -= 1;
        self.next(", ", seed).map(Some)
    }
}

impl<'de> MapAccess<'de> for Items<'_> {
    type Error = Refused;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Refused> {
        if self.count == 0 {
            return Ok(None);
        }
        self.count -= 1;
        self.next("", seed).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Refused> {
        self.next(": ", seed)
    }
}

/// Fields of a struct.
struct Fields<'a> {
    notes: &'a mut Notes,
    name: &'static str,
    left: &'static [&'static str],
    field: &'static str,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Refused;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Refused> {
        let Some((field, left)) = self.left.split_first() else { return Ok(None) };
        (self.field, self.left) = (field, left);
        let key: StrDeserializer<'_, Refused> = (*field).into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Refused> {
        let mut shape = String::new();
        let read = seed.deserialize(Tracer { notes: self.notes, shape: &mut shape });
        // Inside of itself a struct is cut somewhere; what is outside comes last.
        let known = self.notes.structs.entry(self.name.to_owned()).or_default();
        known.insert(self.field.to_owned(), shape);
        read
    }
}

/// A variant of an enum.
struct Variant<'a> {
    notes: &'a mut Notes,
    of: &'static str,
    name: &'static str,
}

impl Variant<'_> {
    fn is(&mut self, inside: String) {
        let variants = self.notes.enums.entry(self.of.to_owned()).or_default();
        variants.insert(self.name.to_owned(), Some(inside));
    }
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Refused;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Refused> {
        let name: StrDeserializer<'_, Refused> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Refused;

    fn unit_variant(mut self) -> Result<(), Refused> {
        self.is(String::new());
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        mut self,
        seed: T,
    ) -> Result<T::Value, Refused> {
        let mut shape = String::new();
        let read = seed.deserialize(Tracer { notes: self.notes, shape: &mut shape });
        self.is(format!("({shape})"));
        read
    }

    fn tuple_variant<V: Visitor<'de>>(
        mut self,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        let mut shape = String::new();
        let read = visitor.visit_seq(Items { notes: self.notes, shape: &mut shape, count });
        self.is(format!("({shape})"));
        read
    }

    fn struct_variant<V: Visitor<'de>>(
        mut self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        let mut shape = String::new();
        let read = visitor.visit_map(Inline { notes: self.notes, shape: &mut shape, left: fields });
        self.is(format!(" {{ {shape} }}"));
        read
    }
}

/// Fields of a variant, which has no name of its own.
struct Inline<'a> {
    notes: &'a mut Notes,
    shape: &'a mut String,
    left: &'static [&'static str],
}

impl<'de> MapAccess<'de> for Inline<'_> {
    type Error = Refused;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Refused> {
        let Some((field, left)) = self.left.split_first() else { return Ok(None) };
        self.left = left;
        if !self.shape.is_empty() {
            self.shape.push_str(", ");
        }
        self.shape.push_str(field);
        let key: StrDeserializer<'_, Refused> = (*field).into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Refused> {
        let mut value = String::new();
        let read = seed.deserialize(Tracer { notes: self.notes, shape: &mut value });
        self.shape.push_str(": ");
        self.shape.push_str(&value);
        read
    }
}
