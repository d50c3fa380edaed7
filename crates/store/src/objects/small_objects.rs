//! Small objects that are read one after another, whatever is damaged among them.

use windlass_core::object::ObjectId;

use super::interface::{ObjectError, ObjectStore};

/// Small objects that are still to be read.
#[derive(Debug)]
pub struct SmallObjectReader {
    ids: Vec<ObjectId>,
}

/// The next of the objects.
#[derive(Debug)]
pub enum SmallObjects {
    /// Some objects with their bytes.
    Read(Vec<(ObjectId, Vec<u8>)>),
    /// An object that cannot be read.
    LeftOut(UnreadableObject),
}

/// Why an object is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnreadableObject {
    /// Its bytes are damaged.
    Damaged(ObjectError),
    /// It is not there: a sweep has removed it, because nothing names it.
    Removed,
}

impl SmallObjectReader {
    /// Reads these objects, of at most [`BLOCK`](super::BLOCK) bytes each.
    pub const fn new(ids: Vec<ObjectId>) -> Self {
        Self { ids }
    }

    /// Reads the next objects; `None` after the last. A damaged object fails its batch, which is read again without it.
    pub async fn next(
        &mut self,
        store: &dyn ObjectStore,
    ) -> Result<Option<SmallObjects>, ObjectError> {
        if self.ids.is_empty() {
            return Ok(None);
        }
        match store.get_batch(self.ids.clone()).await {
            Ok(read) => {
                let batch = self.ids.drain(..read.len()).zip(read).collect();
                Ok(Some(SmallObjects::Read(batch)))
            }
            Err(error) => {
                let (id, reason) = UnreadableObject::of(error)?;
                self.ids.retain(|other| *other != id);
                Ok(Some(SmallObjects::LeftOut(reason)))
            }
        }
    }
}

impl UnreadableObject {
    /// Returns the object that an error is about, and why it cannot be read. Errors of the store itself are returned.
    pub fn of(error: ObjectError) -> Result<(ObjectId, Self), ObjectError> {
        match error {
            ObjectError::Corrupt { id, .. } => Ok((id, Self::Damaged(error))),
            ObjectError::Missing { id, .. } => Ok((id, Self::Removed)),
            ObjectError::Mismatch { .. }
            | ObjectError::Offset { .. }
            | ObjectError::Limit(_)
            | ObjectError::Store(_) => Err(error),
        }
    }

    /// Returns the line of a report; `None` for an object that nothing misses.
    pub fn damage(&self) -> Option<String> {
        match self {
            Self::Damaged(error) => Some(error.to_string()),
            Self::Removed => None,
        }
    }
}
