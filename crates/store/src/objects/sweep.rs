//! Mark and sweep: removes the objects that nothing names.

use windlass_core::object::{ObjectId, SweepRule};
use windlass_core::time::{Span, Time};

use super::interface::{BATCH_OBJECTS_MAX, ObjectError, ObjectInventory, RemovedObjects};

/// The objects that a sweep keeps, sorted: 32 MB for a million.
#[derive(Debug, Default)]
struct LiveObjects(Vec<ObjectId>);

impl LiveObjects {
    fn collect(ids: impl IntoIterator<Item = ObjectId>) -> Self {
        let mut ids: Vec<ObjectId> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self(ids)
    }

    fn contains(&self, id: ObjectId) -> bool {
        self.0.binary_search(&id).is_ok()
    }
}

/// Removes the objects that are not live and were not touched within the grace period before the sweep began.
///
/// `live` is called after the sweep has begun. It returns every object that is named: the manifests of retained runs, of cache
/// entries and of open leases, and the objects in them.
pub async fn sweep_objects<I: IntoIterator<Item = ObjectId>>(
    store: &dyn ObjectInventory,
    live: impl AsyncFnOnce() -> Result<I, ObjectError>,
    grace: Span,
) -> Result<RemovedObjects, ObjectError> {
    let rule = SweepRule::new(store.clock().await?, grace);
    let live = LiveObjects::collect(live().await?);
    let unused = unused_objects(store, rule, &live).await?;
    store.remove(unused, rule.untouched_since()).await
}

async fn unused_objects(
    store: &dyn ObjectInventory,
    rule: SweepRule,
    live: &LiveObjects,
) -> Result<Vec<ObjectId>, ObjectError> {
    let (mut unused, mut after) = (Vec::new(), None);
    loop {
        let page = store.list(after, BATCH_OBJECTS_MAX).await?;
        let Some(last) = page.last() else { return Ok(unused) };
        after = Some(last.id);
        let removed = |touched: Time, id| rule.removes(live.contains(id), touched);
        unused.extend(page.iter().filter(|it| removed(it.touched, it.id)).map(|it| it.id));
    }
}
