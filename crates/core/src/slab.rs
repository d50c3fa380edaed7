//! A vector whose places are used again, so that a small index names a thing while it lives.

use serde::{Deserialize, Serialize};

/// Things kept at indices that stay valid until the thing is taken out.
///
/// The lowest free place is not preferred; places are used again in the reverse order of their leaving, which depends
/// on nothing but the calls made: a replay gives every thing the same index.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(crate) fn insert(&mut self, thing: T) -> u32 {
        if let Some(at) = self.free.pop() {
            self.places[at as usize] = Some(thing);
            return at;
        }
        let at = u32::try_from(self.places.len())
            .expect("bounds on runs, workers and leases keep indices small");
        self.places.push(Some(thing));
        at
    }

    pub(crate) fn remove(&mut self, at: u32) -> T {
        let thing =
            self.places[at as usize].take().expect("an index is used only while its thing lives");
        self.free.push(at);
        thing
    }

    pub(crate) fn get(&self, at: u32) -> Option<&T> {
        self.places.get(at as usize)?.as_ref()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.places.iter().zip(0_u32..).filter_map(|(thing, at)| Some((at, thing.as_ref()?)))
    }

    /// Every index that is in use now, as a list that later changes do not disturb.
    pub(crate) fn indices(&self) -> Vec<u32> {
        self.iter().map(|(at, _)| at).collect()
    }

    /// How many indices there are, in use or free.
    pub(crate) fn index_count(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    fn index(&self, at: u32) -> &T {
        self.places[at as usize].as_ref().expect("an index is used only while its thing lives")
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, at: u32) -> &mut T {
        self.places[at as usize].as_mut().expect("an index is used only while its thing lives")
    }
}
