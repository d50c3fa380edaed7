//! Results that stay in the memory of the process that made them.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

use windlass_store::logs::LogId;

/// A result with its type erased.
pub type InMemoryValue = Arc<dyn Any + Send + Sync>;

/// The number of results that are kept; beyond it the oldest is dropped. Their size is not known, but a user who pins
/// steps has few.
const IN_MEMORY_VALUES_MAX: usize = 64;

/// The results by the deliveries that made them, the oldest first.
#[derive(Debug, Default)]
pub(super) struct InMemoryValues(VecDeque<(LogId, InMemoryValue)>);

impl InMemoryValues {
    pub(super) fn put(&mut self, made_by: LogId, value: InMemoryValue) {
        self.0.push_back((made_by, value));
        if self.0.len() > IN_MEMORY_VALUES_MAX {
            self.0.pop_front();
        }
    }

    pub(super) fn get(&self, made_by: LogId) -> Option<InMemoryValue> {
        let found = self.0.iter().find(|(known, _)| *known == made_by);
        found.map(|(_, value)| Arc::clone(value))
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::id::{RunId, StepIx};

    use super::*;

    #[test]
    fn oldest_value_is_dropped() {
        let made_by = |step| LogId::new(RunId(7), StepIx(step), 1, 1);
        let mut memory = InMemoryValues::default();
        for (step, number) in (0..=IN_MEMORY_VALUES_MAX).enumerate() {
            memory.put(made_by(u32::try_from(step).unwrap()), Arc::new(number));
        }
        assert!(memory.get(made_by(0)).is_none());
        let value = memory.get(made_by(1)).unwrap();
        assert_eq!(value.downcast_ref::<usize>(), Some(&1));
    }
}
