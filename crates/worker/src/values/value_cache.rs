//! A cache of large results that were used recently.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The maximum number of bytes. Beyond it the least recently used result is dropped.
const BYTES_MAX: usize = 64 << 20;

/// Results by their hash.
#[derive(Debug)]
pub(super) struct ValueCache {
    found: BTreeMap<[u8; 32], CachedValue>,
    bytes: usize,
    bytes_max: usize,
    /// Counts lookups.
    tick: u64,
}

#[derive(Debug)]
struct CachedValue {
    text: Arc<str>,
    used_at: u64,
}

impl Default for ValueCache {
    fn default() -> Self {
        Self { found: BTreeMap::new(), bytes: 0, bytes_max: BYTES_MAX, tick: 0 }
    }
}

impl ValueCache {
    pub(super) fn get(&mut self, hash: &[u8; 32]) -> Option<Arc<str>> {
        self.tick += 1;
        let found = self.found.get_mut(hash)?;
        found.used_at = self.tick;
        Some(Arc::clone(&found.text))
    }

    pub(super) fn put(&mut self, hash: [u8; 32], text: Arc<str>) {
        if text.len() > self.bytes_max || self.get(&hash).is_some() {
            return;
        }
        self.bytes += text.len();
        self.found.insert(hash, CachedValue { text, used_at: self.tick });
        while self.bytes > self.bytes_max {
            let oldest = self.found.iter().min_by_key(|(_, found)| found.used_at);
            let Some(hash) = oldest.map(|(hash, _)| *hash) else { break };
            self.bytes -= self.found.remove(&hash).map_or(0, |found| found.text.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_recently_used_result_is_dropped_first() {
        let mut cache = ValueCache { bytes_max: 10, ..ValueCache::default() };
        cache.put([1; 32], "abcd".into());
        cache.put([2; 32], "efgh".into());
        assert!(cache.get(&[1; 32]).is_some());
        cache.put([3; 32], "ijkl".into());
        let left = [1, 2, 3].map(|hash| cache.get(&[hash; 32]).is_some());
        assert_eq!((left, cache.bytes), ([true, false, true], 8));
        cache.put([4; 32], "longer than all".into());
        assert_eq!((cache.get(&[4; 32]), cache.bytes), (None, 8));
        cache.put([1; 32], "abcd".into());
        assert_eq!(cache.bytes, 8, "it is counted once");
    }
}
