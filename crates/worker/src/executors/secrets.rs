//! Secrets on the machine that runs the steps: which variables a step gets, and which values are masked in its output.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_core::environment::{MASKED_MIN, MissingSecret, StepSecrets, missing_secrets};
use windlass_core::expand::StepWork;
use windlass_core::id::{RunId, StepIx};
use windlass_core::plan::{Plan, StepSpec};

use super::builtin_executor::{ExecutorSettings, TracePropagation};
use crate::masks::{MaskError, SecretMasks};

/// The number of sets of secrets whose masks are cached. A worker seldom has steps of more pipelines at once.
const SETS_MAX: usize = 16;

/// The number of runs for which a warning is remembered.
const WARNED_MAX: usize = 64;

/// The masks for the output of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct StepMasks {
    pub(super) masks: SecretMasks,
    /// Secrets that are too short to be masked.
    pub(super) unmasked: Arc<[String]>,
}

impl ExecutorSettings {
    /// Returns the variables of the worker that a step does not inherit. The state of another trace means nothing in
    /// the step's own.
    pub(super) fn withheld_variables<'a>(
        &'a self,
        work: &'a StepWork,
        traces: TracePropagation,
    ) -> impl Iterator<Item = &'a str> {
        let secrets = StepSecrets::of(work);
        let names = self.environment.iter().map(|(name, _)| name.as_str());
        names.filter(move |name| {
            self.policy.withholds(name, secrets)
                || (traces == TracePropagation::Own(None) && *name == "TRACESTATE")
        })
    }

    /// Returns the secrets that a step lists, with their values, or the first one that is missing.
    pub(super) fn secrets(&self, work: &StepWork) -> Result<Vec<(String, String)>, String> {
        let find = |name: &String| {
            let value = self.value(name).ok_or_else(|| {
                let worker = &self.worker;
                format!(
                    "secret {name} is not set in the environment of worker {worker}: \
                     start the worker with this variable, or run the step on a worker that has it"
                )
            })?;
            Ok((name.clone(), value.to_owned()))
        };
        work.secrets.iter().map(find).collect()
    }

    /// Returns masks for the values of all secrets of the pipeline that this worker has. A step may also print what it
    /// found elsewhere.
    pub(super) fn masks(&self, work: &StepWork) -> Result<StepMasks, String> {
        let all = StepSecrets::of(work).all();
        let mut known: Vec<(&str, &str)> =
            all.filter_map(|name| Some((name, self.value(name)?))).collect();
        known.sort_unstable();
        if known.is_empty() {
            return Ok(StepMasks::default());
        }
        self.masks.get(&known).map_err(|error| error.to_string())
    }

    /// Returns the value of a variable. An empty one counts as not set, because most CI systems pass a missing secret
    /// that way.
    fn value(&self, name: &str) -> Option<&str> {
        let mut known = self.environment.iter().filter(|(known, _)| known == name);
        known.next().map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}

/// Returns every variable of this process whose name is text. A value that is not text is empty: it can be withheld,
/// but not read.
pub fn process_environment() -> Vec<(String, String)> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().unwrap_or_default()))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// Returns the secrets that steps of a plan list and this process lacks.
pub fn missing_here(plan: &Plan, runs: impl Fn(StepIx, &StepSpec) -> bool) -> Vec<MissingSecret> {
    let environment = process_environment();
    let is_set =
        |name: &str| environment.iter().any(|(known, value)| known == name && !value.is_empty());
    missing_secrets(plan, runs, is_set)
}

/// Caches masks by the names of their secrets, and the warnings that were given about them.
#[derive(Clone, Debug, Default)]
pub struct MaskCache(Arc<Mutex<MaskCacheState>>);

#[derive(Debug, Default)]
struct MaskCacheState {
    sets: VecDeque<(Vec<String>, StepMasks)>,
    warned: VecDeque<RunId>,
}

impl MaskCache {
    fn get(&self, known: &[(&str, &str)]) -> Result<StepMasks, MaskError> {
        let names: Vec<String> = known.iter().map(|(name, _)| (*name).to_owned()).collect();
        let mut remembered = self.lock();
        if let Some((_, masks)) = remembered.sets.iter().find(|(set, _)| *set == names) {
            return Ok(masks.clone());
        }
        let (long, short): (Vec<_>, Vec<_>) =
            known.iter().copied().partition(|(_, value)| value.len() >= MASKED_MIN);
        let unmasked = short.into_iter().map(|(name, _)| name.to_owned()).collect();
        let masks = StepMasks { masks: SecretMasks::new(long)?, unmasked };
        remembered.sets.truncate(SETS_MAX - 1);
        remembered.sets.push_front((names, masks.clone()));
        Ok(masks)
    }

    /// Returns the warning about secrets that are not masked, once for each run on this worker.
    pub(super) fn unmasked_warning(&self, run: RunId, unmasked: &[String]) -> Option<String> {
        let mut remembered = self.lock();
        if unmasked.is_empty() || remembered.warned.contains(&run) {
            return None;
        }
        remembered.warned.truncate(WARNED_MAX - 1);
        remembered.warned.push_front(run);
        let names = unmasked.join(", ");
        Some(format!(
            "warning: not masked in the output of this run, since shorter than {MASKED_MIN} bytes: {names}"
        ))
    }

    fn lock(&self) -> MutexGuard<'_, MaskCacheState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
