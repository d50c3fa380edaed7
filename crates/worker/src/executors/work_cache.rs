//! A cache of parsed work, for the attempts that follow.

use std::sync::{Arc, Mutex, PoisonError};

use windlass_core::expand::StepWork;

/// The number of works in the cache. All cells of a matrix share one, and a run is seldom at many steps at once.
const REMEMBERED_MAX: usize = 16;

/// Parses work, each text once while it is cached: the many attempts of a matrix share one text.
#[derive(Debug, Default)]
pub(super) struct WorkCache(Mutex<Vec<(Arc<str>, Arc<StepWork>)>>);

impl WorkCache {
    /// Returns the work that a text describes, or what is wrong with it.
    pub(super) fn read(&self, text: &Arc<str>) -> Result<Arc<StepWork>, String> {
        if let Some(known) = self.find(text) {
            return Ok(known);
        }
        let read =
            StepWork::parse(text).map_err(|error| format!("its work is not known: {error}"))?;
        let read = Arc::new(read);
        let mut known = self.known();
        if known.len() >= REMEMBERED_MAX {
            known.remove(0);
        }
        known.push((Arc::clone(text), Arc::clone(&read)));
        Ok(read)
    }

    fn find(&self, text: &Arc<str>) -> Option<Arc<StepWork>> {
        let known = self.known();
        let found = known.iter().rev().find(|(known, _)| known == text);
        found.map(|(_, work)| Arc::clone(work))
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Vec<(Arc<str>, Arc<StepWork>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_parsed_once_and_the_oldest_is_evicted() {
        let works = WorkCache::default();
        let text =
            |n: usize| Arc::<str>::from(format!("{{\"action\":\"noop\",\"about\":\"{n}\"}}"));
        let first = works.read(&text(0)).unwrap();
        assert!(Arc::ptr_eq(&first, &works.read(&text(0)).unwrap()));
        for n in 1..=REMEMBERED_MAX {
            assert_eq!(works.read(&text(n)).unwrap().about, Some(n.to_string()));
        }
        let again = works.read(&text(0)).unwrap();
        assert!(!Arc::ptr_eq(&first, &again) && first == again);
        assert!(works.read(&"what".into()).unwrap_err().starts_with("its work is not known"));
    }
}
