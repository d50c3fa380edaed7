//! What a type has asked for so far.

use std::collections::BTreeMap;

/// Values that are made up for one look at a type: one whose parts are many times larger than it is looked at no further.
const LOOKS_MAX: usize = 1 << 16;

/// A name with what belongs to it: two types of one name differ by that.
type TypeIdentity = (&'static str, &'static [&'static str]);

/// What is known of the types that were asked for.
#[derive(Debug, Default)]
pub(super) struct ShapeNotes {
    pub(super) structs: BTreeMap<String, BTreeMap<String, String>>,
    /// The fields of structs in their order.
    orders: BTreeMap<String, Vec<String>>,
    /// Variants by the name of their enum, with what is in each once that was seen.
    pub(super) enums: BTreeMap<String, BTreeMap<String, Option<String>>>,
    /// A variant of each enum that has an end.
    ends: BTreeMap<String, &'static str>,
    /// What is being looked at, the outermost first.
    open: Vec<TypeIdentity>,
    /// Where it is looked: `LayerSample.below?`.
    place: String,
    /// Options, lists and maps that lead back to what they are in, with what they are: they are empty there.
    loops: BTreeMap<String, String>,
    /// A type was met inside of itself, and no place was found yet that could be empty.
    leads_back: bool,
    /// How many such places were found in this look.
    loops_found: usize,
    looks: usize,
}

impl ShapeNotes {
    /// Begins another look at the type.
    pub(super) fn begin(&mut self) {
        self.open.clear();
        self.place.clear();
        (self.leads_back, self.loops_found, self.looks) = (false, 0, 0);
    }

    /// Whether the last look left something to be seen.
    pub(super) fn is_incomplete(&self) -> bool {
        self.loops_found > 0 || self.enums.values().flat_map(BTreeMap::values).any(Option::is_none)
    }

    /// Looks at a place inside of the one that is looked at.
    pub(super) fn at<R>(&mut self, place: &str, look: impl FnOnce(&mut Self) -> R) -> R {
        let length = self.place.len();
        self.place.push_str(place);
        let looked = look(self);
        self.place.truncate(length);
        looked
    }

    /// Looks at a type that has a name. Its places are its own, whatever it is in.
    pub(super) fn within<R>(
        &mut self,
        identity: TypeIdentity,
        look: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let outer = std::mem::replace(&mut self.place, identity.0.to_owned());
        self.open.push(identity);
        let looked = look(self);
        self.open.pop();
        self.place = outer;
        looked
    }

    /// Counts a look; false if there were enough.
    pub(super) const fn may_look(&mut self) -> bool {
        self.looks += 1;
        self.looks <= LOOKS_MAX
    }

    /// Whether a struct may be looked into: once inside of itself, where an enum may choose another way.
    pub(super) fn enters(&mut self, identity: TypeIdentity) -> bool {
        if self.open.iter().filter(|open| **open == identity).count() > 1 {
            self.leads_back = true;
            return false;
        }
        let (name, fields) = identity;
        let known = self.structs.entry(name.to_owned()).or_default();
        for field in fields {
            known.entry((*field).to_owned()).or_insert_with(|| "?".to_owned());
        }
        let order = fields.iter().map(|field| (*field).to_owned()).collect();
        self.orders.insert(name.to_owned(), order);
        true
    }

    /// The variant of an enum that is looked at next: one that was not seen; inside of itself, at last, one that has an end.
    pub(super) fn variant(&mut self, identity: TypeIdentity) -> Option<&'static str> {
        let (name, variants) = identity;
        let known = self.enums.entry(name.to_owned()).or_default();
        for variant in variants {
            known.entry((*variant).to_owned()).or_default();
        }
        if let Some(unseen) = variants.iter().find(|variant| known[**variant].is_none()) {
            // Seen from now on, also if it refuses: inside of itself another one is looked at.
            known.insert((*unseen).to_owned(), Some(String::new()));
            return Some(*unseen);
        }
        let ends = self.ends.get(name).copied();
        if ends.is_none() && self.open.contains(&identity) {
            self.leads_back = true;
            return None;
        }
        ends.or_else(|| variants.first().copied())
    }

    /// Notes what is in a variant. One that led back to itself is looked at again.
    pub(super) fn saw(&mut self, of: &str, variant: &'static str, inside: String, read: bool) {
        let again = !read && self.loops_found > 0;
        let variants = self.enums.entry(of.to_owned()).or_default();
        variants.insert(variant.to_owned(), (!again).then_some(inside));
        if read {
            self.ends.entry(of.to_owned()).or_insert(variant);
        }
    }

    /// What is at this place, if it is one that has to be empty.
    pub(super) fn looped(&self) -> Option<&String> {
        self.loops.get(&self.place)
    }

    /// Notes that this place can be empty, if looking into it led back.
    pub(super) fn close(&mut self, shape: &str) {
        if std::mem::take(&mut self.leads_back) {
            self.loops.insert(self.place.clone(), shape.to_owned());
            self.loops_found += 1;
        }
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
