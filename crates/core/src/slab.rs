//! A vector that reuses its free positions, and one index type per slab of the engine.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// The index type of a slab. Each slab has its own type, so that an index cannot be used with another slab.
///
/// Only [`Slab`] makes indices.
pub(crate) trait SlabIndex: Copy {
    /// The index of a position.
    fn from_position(position: usize) -> Self;

    /// The position that the index stands for.
    fn position(self) -> usize;
}

macro_rules! slab_index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub(crate) struct $name(
            /// The position plus one, so that `Option` of an index takes four bytes: a run keeps up to a million.
            NonZeroU32,
        );

        impl SlabIndex for $name {
            fn from_position(position: usize) -> Self {
                let above = u32::try_from(position).ok().and_then(|at| at.checked_add(1));
                Self(
                    above
                        .and_then(NonZeroU32::new)
                        .expect("limits on runs, workers and leases keep indices small"),
                )
            }

            fn position(self) -> usize {
                self.0.get() as usize - 1
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.position())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }
    };
}

slab_index! {
    /// The index of a run in the engine.
    RunIx
}
slab_index! {
    /// The index of a worker in the engine.
    WorkerIx
}
slab_index! {
    /// The index of an open lease in the engine.
    LeaseIx
}
slab_index! {
    /// The index of a lane in the queues.
    LaneIx
}
slab_index! {
    /// The index of a requirement class in the queues.
    ClassIx
}
slab_index! {
    /// The index of a lock in the queues.
    LockIx
}

/// Items at indices that stay valid until the item is removed.
///
/// Free positions are reused in the reverse order of removal. The order depends on nothing but the calls made, so a
/// replay gives every item the same index.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Slab<I, T> {
    items: Vec<Option<T>>,
    /// Free positions, the next one to be used last.
    free: Vec<u32>,
    #[serde(skip)]
    index: PhantomData<I>,
}

impl<I, T> Default for Slab<I, T> {
    fn default() -> Self {
        Self { items: Vec::new(), free: Vec::new(), index: PhantomData }
    }
}

impl<I: SlabIndex, T> Slab<I, T> {
    pub(crate) fn insert(&mut self, item: T) -> I {
        if let Some(at) = self.free.pop() {
            self.items[at as usize] = Some(item);
            return I::from_position(at as usize);
        }
        let index = I::from_position(self.items.len());
        self.items.push(Some(item));
        index
    }

    pub(crate) fn remove(&mut self, index: I) -> T {
        let item = self.items[index.position()].take().expect(ITEM_LIVES);
        self.free.push(u32::try_from(index.position()).expect("an index has 32 bits"));
        item
    }

    pub(crate) fn get(&self, index: I) -> Option<&T> {
        self.items.get(index.position())?.as_ref()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        let items = self.items.iter().enumerate();
        items.filter_map(|(at, item)| Some((I::from_position(at), item.as_ref()?)))
    }

    /// Every index that is in use now, as a list that later changes do not disturb.
    pub(crate) fn indices(&self) -> Vec<I> {
        self.iter().map(|(at, _)| at).collect()
    }

    /// The number of positions, in use or free.
    pub(crate) fn position_count(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }
}

const ITEM_LIVES: &str = "an index is used only while its item lives";

impl<I: SlabIndex, T> std::ops::Index<I> for Slab<I, T> {
    type Output = T;
    fn index(&self, index: I) -> &T {
        self.items[index.position()].as_ref().expect(ITEM_LIVES)
    }
}

impl<I: SlabIndex, T> std::ops::IndexMut<I> for Slab<I, T> {
    fn index_mut(&mut self, index: I) -> &mut T {
        self.items[index.position()].as_mut().expect(ITEM_LIVES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_index_takes_four_bytes() {
        assert_eq!(size_of::<Option<LeaseIx>>(), 4);
    }

    #[test]
    fn free_positions_are_reused_in_reverse_order_of_removal() {
        let mut slab: Slab<RunIx, &str> = Slab::default();
        let [a, b, c] = ["a", "b", "c"].map(|item| slab.insert(item));
        slab.remove(a);
        slab.remove(c);
        assert_eq!([slab.insert("d"), slab.insert("e")], [c, a]);
        assert_eq!((slab[b], slab.len(), slab.position_count()), ("b", 3, 3));
    }
}
