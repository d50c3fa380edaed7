//! Copies the objects of a store to another one, while the first is in use.

use std::time::Duration;

use tokio::time::Instant;
use windlass_core::object::ObjectId;
use windlass_store::objects::{
    BATCH_OBJECTS_MAX, BLOCK, FolderObjects, ObjectError, ObjectInventory as _, ObjectStore as _,
    SmallObjectReader, SmallObjects, StoredObject, UnreadableObject,
};

/// How often the objects that are still to be copied are touched: far below the shortest grace period of a sweep.
const TOUCH_EVERY: Duration = Duration::from_mins(2);

/// Objects between two looks at the time: at most a gigabyte of small ones.
const PART_OBJECTS: usize = 1_000;

/// The copied objects.
#[derive(Debug, Default)]
pub(super) struct ObjectCopy {
    pub(super) objects: u64,
    pub(super) bytes: u64,
    /// Objects that could not be read, each with the reason.
    pub(super) damaged: Vec<String>,
}

/// Lists all objects. In a store in use each is touched, so that no sweep removes it within the grace period from now on.
pub(super) async fn list_all(
    store: &FolderObjects,
    is_in_use: bool,
) -> Result<Vec<StoredObject>, ObjectError> {
    let mut objects: Vec<StoredObject> = Vec::new();
    loop {
        let page = store.list(objects.last().map(|last| last.id), BATCH_OBJECTS_MAX).await?;
        if page.is_empty() {
            return Ok(objects);
        }
        if is_in_use {
            touch(store, &page).await?;
        }
        objects.extend(page);
    }
}

async fn touch(store: &FolderObjects, objects: &[StoredObject]) -> Result<(), ObjectError> {
    for part in objects.chunks(BATCH_OBJECTS_MAX) {
        store.missing(part.iter().map(|object| object.id).collect()).await?;
    }
    Ok(())
}

/// Copies these objects. `is_swept` says that the source is in use, so objects have to be touched meanwhile.
pub(super) async fn copy_objects(
    source: &FolderObjects,
    target: &FolderObjects,
    (objects, is_swept): (&[StoredObject], bool),
) -> Result<ObjectCopy, ObjectError> {
    let (mut copied, mut touched) = (ObjectCopy::default(), Instant::now());
    for (done, part) in objects.chunks(PART_OBJECTS).enumerate() {
        let (small, large): (Vec<StoredObject>, Vec<StoredObject>) =
            part.iter().partition(|object| object.size <= BLOCK as u64 && object.size > 0);
        copied.copy_small(source, target, small.iter().map(|object| object.id).collect()).await?;
        for object in [None].into_iter().chain(large.into_iter().map(Some)) {
            if is_swept && touched.elapsed() >= TOUCH_EVERY {
                touch(source, &objects[done * PART_OBJECTS..]).await?;
                touched = Instant::now();
            }
            if let Some(object) = object {
                copied.copy_large(source, target, object.id).await?;
            }
        }
    }
    Ok(copied)
}

impl ObjectCopy {
    async fn copy_small(
        &mut self,
        source: &FolderObjects,
        target: &FolderObjects,
        ids: Vec<ObjectId>,
    ) -> Result<(), ObjectError> {
        let mut reader = SmallObjectReader::new(ids);
        while let Some(next) = reader.next(source).await? {
            match next {
                SmallObjects::Read(batch) => {
                    self.objects += batch.len() as u64;
                    self.bytes += batch.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
                    target.put_batch(batch).await?;
                }
                SmallObjects::LeftOut(reason) => self.damaged.extend(reason.damage()),
            }
        }
        Ok(())
    }

    async fn copy_large(
        &mut self,
        source: &FolderObjects,
        target: &FolderObjects,
        id: ObjectId,
    ) -> Result<(), ObjectError> {
        let mut at = 0;
        let size = loop {
            let part = match source.read(id, at..u64::MAX).await {
                Ok(part) => part,
                Err(error) => {
                    let (_, reason) = UnreadableObject::of(error)?;
                    self.damaged.extend(reason.damage());
                    return Ok(());
                }
            };
            if part.size <= BLOCK as u64 {
                // One block, whose size could not be listed.
                target.put_batch(vec![(id, part.bytes)]).await?;
                break part.size;
            }
            at = target.append(id, at, part.bytes).await?;
            if at >= part.size {
                target.finish(id, part.size).await?;
                break part.size;
            }
        };
        self.objects += 1;
        self.bytes += size;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::Path;
    use std::time::SystemTime;

    use tempfile::TempDir;
    use windlass_core::time::Span;
    use windlass_store::conformance::block_on;
    use windlass_store::objects::{send_bytes, sweep_objects};

    use super::*;

    /// A store in a folder of its own.
    fn store() -> (TempDir, FolderObjects) {
        let folder = tempfile::tempdir().expect("a folder");
        let store = FolderObjects::open(folder.path()).expect("it opens");
        (folder, store)
    }

    /// Makes all objects two days old.
    fn age(folder: &Path) {
        for entry in fs::read_dir(folder).expect("it is a folder").flatten() {
            if entry.path().is_dir() {
                age(&entry.path());
            } else {
                let file = File::options().append(true).open(entry.path()).expect("it opens");
                let metadata = file.metadata().expect("it is there");
                let now = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                file.set_modified(now - Duration::from_hours(48)).expect("it is ours");
            }
        }
    }

    fn sweep(store: &FolderObjects) -> u64 {
        let live = async || Ok(Vec::new());
        block_on(sweep_objects(store, live, Span::mins(10))).expect("it sweeps").objects
    }

    #[test]
    fn no_sweep_removes_an_object_between_the_beginning_of_a_backup_and_its_copy() {
        let ((from, source), (_to, target)) = (store(), store());
        for bytes in [b"small".to_vec(), vec![7; 2 * BLOCK + 1], Vec::new()] {
            block_on(send_bytes(&source, bytes)).expect("it is stored");
        }
        age(&from.path().join("objects/packs"));
        age(&from.path().join("objects/files"));
        let listed = block_on(list_all(&source, true)).expect("they are listed");
        assert_eq!(sweep(&source), 0, "they are touched, although nothing names them");
        let copied = block_on(copy_objects(&source, &target, (&listed, true))).expect("it copies");
        assert_eq!((copied.objects, copied.bytes), (3, 5 + 2 * BLOCK as u64 + 1));
        let sizes = |store| {
            let listed = block_on(list_all(store, false)).expect("they are listed");
            listed.iter().map(|it| (it.id, it.size)).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&target), sizes(&source));
        age(&from.path().join("objects/packs"));
        age(&from.path().join("objects/files"));
        assert_eq!(sweep(&source), 3, "later ones remove them");
    }

    #[test]
    fn damaged_and_removed_objects_are_left_out() {
        let ((from, source), (_to, target)) = (store(), store());
        let sound = block_on(send_bytes(&source, b"sound".to_vec())).expect("it is stored");
        let large = block_on(send_bytes(&source, vec![7; 2 * BLOCK])).expect("it is stored");
        let mut listed = block_on(list_all(&source, true)).expect("they are listed");
        let removed = ObjectId::of(b"removed");
        listed.push(StoredObject { id: removed, size: 7, touched: listed[0].touched });
        let name = large.to_string();
        let file = from.path().join("objects/files").join(&name[..2]).join(name);
        let mut bytes = fs::read(&file).expect("it is there");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(file, bytes).expect("it can be written");
        let copied = block_on(copy_objects(&source, &target, (&listed, true))).expect("it copies");
        assert_eq!((copied.objects, copied.damaged.len()), (1, 1), "{copied:?}");
        let kept = block_on(list_all(&target, false)).expect("they are listed");
        assert_eq!(kept.iter().map(|it| it.id).collect::<Vec<_>>(), [sound]);
    }
}
