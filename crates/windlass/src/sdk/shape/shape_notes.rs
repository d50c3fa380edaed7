//! The requests of a type so far.

use std::collections::BTreeMap;

/// The maximum number of values that are invented in one pass. The shape of a type that needs more ends there.
const LOOKS_MAX: usize = 1 << 16;

/// A name with the names of its fields or variants, which distinguish two types of the same name.
type TypeIdentity = (&'static str, &'static [&'static str]);

/// The shapes that are known so far.
#[derive(Debug, Default)]
pub(super) struct ShapeNotes {
    pub(super) structs: BTreeMap<String, BTreeMap<String, String>>,
    /// The fields of structs in their order.
    orders: BTreeMap<String, Vec<String>>,
    /// Variants by the name of their enum, with the content of each that was visited.
    pub(super) enums: BTreeMap<String, BTreeMap<String, Option<String>>>,
    /// A variant of each enum that does not contain the enum again.
    ends: BTreeMap<String, &'static str>,
    /// The types under visit, the outermost first.
    open: Vec<TypeIdentity>,
    /// The path of the visit: `LayerSample.below?`.
    place: String,
    /// Options, lists and maps that contain an enclosing type, with their shapes. They are empty at these paths.
    loops: BTreeMap<String, String>,
    /// Whether a type was found inside itself, and no place that can be empty was found yet.
    leads_back: bool,
    /// The number of such places that this pass found.
    loops_found: usize,
    looks: usize,
}

impl ShapeNotes {
    /// Begins another pass.
    pub(super) fn begin(&mut self) {
        self.open.clear();
        self.place.clear();
        (self.leads_back, self.loops_found, self.looks) = (false, 0, 0);
    }

    /// Whether another pass would find more.
    pub(super) fn is_incomplete(&self) -> bool {
        self.loops_found > 0 || self.enums.values().flat_map(BTreeMap::values).any(Option::is_none)
    }

    /// Visits a place inside the current one.
    pub(super) fn at<R>(&mut self, place: &str, trace: impl FnOnce(&mut Self) -> R) -> R {
        let length = self.place.len();
        self.place.push_str(place);
        let looked = trace(self);
        self.place.truncate(length);
        looked
    }

    /// Visits a named type. Paths inside it begin with its name, wherever it occurs.
    pub(super) fn within<R>(
        &mut self,
        identity: TypeIdentity,
        trace: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let outer = std::mem::replace(&mut self.place, identity.0.to_owned());
        self.open.push(identity);
        let looked = trace(self);
        self.open.pop();
        self.place = outer;
        looked
    }

    /// Counts a value; returns false beyond the maximum.
    pub(super) const fn may_look(&mut self) -> bool {
        self.looks += 1;
        self.looks <= LOOKS_MAX
    }

    /// Whether a struct may be visited: at most once inside itself, where an enum may select another variant.
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

    /// The next variant to visit: one that was not visited; inside the enum itself, finally one that does not contain it.
    pub(super) fn variant(&mut self, identity: TypeIdentity) -> Option<&'static str> {
        let (name, variants) = identity;
        let known = self.enums.entry(name.to_owned()).or_default();
        for variant in variants {
            known.entry((*variant).to_owned()).or_default();
        }
        if let Some(unseen) = variants.iter().find(|variant| known[**variant].is_none()) {
            // It counts as visited even if it refuses its value: inside itself, another variant is visited.
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

    /// Records the content of a variant. A variant that contains its enum is visited again.
    pub(super) fn saw(&mut self, of: &str, variant: &'static str, inside: String, read: bool) {
        let again = !read && self.loops_found > 0;
        let variants = self.enums.entry(of.to_owned()).or_default();
        variants.insert(variant.to_owned(), (!again).then_some(inside));
        if read {
            self.ends.entry(of.to_owned()).or_insert(variant);
        }
    }

    /// The shape at this path, if the value there must be empty.
    pub(super) fn looped(&self) -> Option<&String> {
        self.loops.get(&self.place)
    }

    /// Records that the value at this path can be empty, if the visit found an enclosing type.
    pub(super) fn close(&mut self, shape: &str) {
        if std::mem::take(&mut self.leads_back) {
            self.loops.insert(self.place.clone(), shape.to_owned());
            self.loops_found += 1;
        }
    }

    /// The definitions of all named types, and the fields of structs.
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
