//! Verifies every object of a store.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::manifest::{EntryKind, MANIFEST_BYTES_MAX, Manifest};
use windlass_core::object::ObjectId;

use super::interface::{BATCH_OBJECTS_MAX, BLOCK, ObjectError, ObjectInventory, StoredObject};
use super::small_objects::{SmallObjectReader, SmallObjects, UnreadableObject};

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectCheck {
    /// The number of sound objects.
    pub objects: u64,
    /// Their size.
    pub bytes: u64,
    /// The number of manifests among them.
    pub manifests: u64,
    /// Damaged objects and unusable manifests, each as a line with the reason.
    pub damaged: Vec<String>,
    /// Missing objects, each with a manifest that names it.
    pub missing: BTreeMap<ObjectId, ObjectId>,
}

/// Reads every object and compares it with its hash, and looks for the objects that manifests name. Damaged objects are
/// set aside by the store.
pub async fn check_objects(store: &dyn ObjectInventory) -> Result<ObjectCheck, ObjectError> {
    let mut run = CheckRun::default();
    let mut after = None;
    loop {
        let page = store.list(after, BATCH_OBJECTS_MAX).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        let (small, large): (Vec<StoredObject>, Vec<StoredObject>) =
            page.iter().partition(|object| object.size <= BLOCK as u64 && object.size > 0);
        run.check_small(store, small.iter().map(|object| object.id).collect()).await?;
        for object in large {
            run.check_large(store, object.id).await?;
        }
    }
    Ok(run.conclude())
}

#[derive(Debug, Default)]
struct CheckRun {
    found: ObjectCheck,
    present: BTreeSet<ObjectId>,
    named: BTreeMap<ObjectId, ObjectId>,
}

impl CheckRun {
    async fn check_small(
        &mut self,
        store: &dyn ObjectInventory,
        ids: Vec<ObjectId>,
    ) -> Result<(), ObjectError> {
        let mut reader = SmallObjectReader::new(ids);
        while let Some(next) = reader.next(store).await? {
            match next {
                SmallObjects::Read(objects) => {
                    for (id, bytes) in objects {
                        self.accept(id, bytes.len() as u64, &bytes);
                    }
                }
                SmallObjects::LeftOut(reason) => self.found.damaged.extend(reason.damage()),
            }
        }
        Ok(())
    }

    async fn check_large(
        &mut self,
        store: &dyn ObjectInventory,
        id: ObjectId,
    ) -> Result<(), ObjectError> {
        let (mut at, mut kept) = (0, Vec::new());
        loop {
            let part = match store.read(id, at..u64::MAX).await {
                Ok(part) => part,
                Err(error) => {
                    let (_, reason) = UnreadableObject::of(error)?;
                    self.found.damaged.extend(reason.damage());
                    return Ok(());
                }
            };
            at += part.bytes.len() as u64;
            let is_first = at == part.bytes.len() as u64;
            let is_manifest = Manifest::is_encoded(if is_first { &part.bytes } else { &kept });
            if is_manifest && part.size <= MANIFEST_BYTES_MAX as u64 {
                kept.extend(part.bytes);
            }
            if at >= part.size {
                self.accept(id, part.size, &kept);
                return Ok(());
            }
        }
    }

    fn accept(&mut self, id: ObjectId, size: u64, bytes: &[u8]) {
        self.found.objects += 1;
        self.found.bytes += size;
        self.present.insert(id);
        if !Manifest::is_encoded(bytes) {
            return;
        }
        match Manifest::decode(bytes) {
            Ok(manifest) => self.accept_manifest(id, &manifest),
            Err(error) => self.found.damaged.push(format!("{id}: {error}")),
        }
    }

    fn accept_manifest(&mut self, id: ObjectId, manifest: &Manifest) {
        self.found.manifests += 1;
        for entry in manifest.entries() {
            if let EntryKind::File { object, .. } = &entry.kind {
                self.named.entry(*object).or_insert(id);
            }
        }
    }

    fn conclude(mut self) -> ObjectCheck {
        self.named.retain(|id, _| !self.present.contains(id));
        self.found.missing = self.named;
        self.found
    }
}
