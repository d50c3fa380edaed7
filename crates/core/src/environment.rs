//! Decides which variables of a worker's environment a step gets, and which secrets a run lacks.
//!
//! A step inherits the environment of its worker, with three exceptions. The settings of windlass itself are never passed.
//! A secret of the pipeline is passed only to the steps that list it. A worker of a cluster runs commands of many users, so
//! it also withholds variables whose names look like credentials, unless the step lists them or the operator passes them.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::expand::StepWork;
use crate::id::StepIx;
use crate::plan::{Plan, StepSpec, ValueCondition};

/// Shorter values occur in harmless output too often, so they are not masked.
pub const MASKED_MIN: usize = 6;

/// Variables that windlass reads itself, or sets for a step.
const OWN_PREFIX: &str = "WINDLASS_";

/// Parts of a name that mark a credential.
const CREDENTIAL_PARTS: [&str; 9] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "APIKEY",
    "PRIVATE_KEY",
    // The variable with the credentials of an OpenTelemetry collector.
    "OTLP_HEADERS",
];

/// Suffixes of a name that mark a credential.
const CREDENTIAL_ENDS: [&str; 2] = ["_KEY", "_PAT"];

/// Prefixes that cloud providers use for credentials and accounts.
const CLOUD_PREFIXES: [&str; 4] = ["AWS_", "AZURE_", "GOOGLE_", "GCP_"];

/// The variables of its environment that a worker passes to steps, beside those that steps list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EnvironmentPolicy {
    /// All: the author of the pipeline started the worker.
    #[default]
    PassAll,
    /// All but variables whose names look like credentials; these are passed too: a name, or a prefix and `*`.
    WithholdCredentials(Vec<String>),
}

/// The secrets of a pipeline from the view of one step.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepSecrets<'a> {
    /// Secrets that the step lists.
    pub listed: &'a [String],
    /// Secrets that only other steps list.
    pub others: &'a [String],
}

impl<'a> StepSecrets<'a> {
    /// Returns the secrets from the view of a step.
    pub fn of(work: &'a StepWork) -> Self {
        Self { listed: &work.secrets, others: &work.other_secrets }
    }

    /// Returns all secrets of the pipeline.
    pub fn all(self) -> impl Iterator<Item = &'a str> {
        self.listed.iter().chain(self.others).map(String::as_str)
    }
}

impl EnvironmentPolicy {
    /// Returns whether a step does not inherit the variable `name`.
    pub fn withholds(&self, name: &str, secrets: StepSecrets<'_>) -> bool {
        let among = |list: &[String]| list.iter().any(|known| known == name);
        if is_own_setting(name) {
            return true;
        }
        if among(secrets.listed) {
            return false;
        }
        among(secrets.others) || self.withholds_credential(name)
    }

    fn withholds_credential(&self, name: &str) -> bool {
        match self {
            Self::PassAll => false,
            Self::WithholdCredentials(passed) => {
                looks_like_credential(name)
                    && !passed.iter().any(|pattern| matches_pattern(pattern, name))
            }
        }
    }
}

/// Returns whether windlass itself uses the variable. No step can list it: a worker's token gives access to its controller.
pub fn is_own_setting(name: &str) -> bool {
    name.starts_with(OWN_PREFIX)
}

/// Returns whether the name of a variable looks like that of a credential.
pub fn looks_like_credential(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    CREDENTIAL_PARTS.iter().any(|part| name.contains(part))
        || CREDENTIAL_ENDS.iter().any(|end| name.ends_with(end))
        || CLOUD_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn matches_pattern(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => pattern == name,
    }
}

/// A secret that a step of a plan lists and the environment lacks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingSecret {
    /// The name of the secret.
    pub secret: String,
    /// The first step that lists it.
    pub step: String,
}

/// Returns the secrets that steps list and the environment of this machine lacks. Steps that cannot run do not count: those
/// that a condition on params excludes, and those that the machine cannot run. Steps that may or may not run do count: those
/// with a condition on outputs, with an idempotency key, or that run after a failure only. Whether they run is known only
/// later, and it is better to know in advance that a notification cannot be sent.
pub fn missing_secrets(
    plan: &Plan,
    runs: impl Fn(StepIx, &StepSpec) -> bool,
    is_set: impl Fn(&str) -> bool,
) -> Vec<MissingSecret> {
    let mut missing: Vec<MissingSecret> = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut last: Option<Arc<str>> = None;
    for step in plan.nodes() {
        let Some(spec) = plan.spec(step) else { continue };
        let is_excluded = matches!(spec.when, ValueCondition::Fails(_));
        if is_excluded || !runs(step, spec) {
            continue;
        }
        let text = plan.work(step);
        // All cells of a matrix share their work.
        if last.as_ref() == Some(&text) || !text.contains("\"secrets\"") {
            continue;
        }
        let listed = StepWork::parse(&text).map(|work| work.secrets).unwrap_or_default();
        for secret in listed.into_iter().filter(|name| !is_set(name)) {
            if seen.insert(secret.clone()) {
                missing.push(MissingSecret { secret, step: plan.name(step).to_owned() });
            }
        }
        last = Some(text);
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_secret_is_passed_to_the_steps_that_list_it_and_to_no_other() {
        let (listed, others) = (names(&["DEPLOY"]), names(&["SIGN"]));
        let secrets = StepSecrets { listed: &listed, others: &others };
        for policy in [
            EnvironmentPolicy::PassAll,
            EnvironmentPolicy::WithholdCredentials(names(&["SIGN", "WINDLASS_*"])),
        ] {
            assert!(!policy.withholds("DEPLOY", secrets), "{policy:?}");
            assert!(policy.withholds("SIGN", secrets), "{policy:?}");
            assert!(policy.withholds("WINDLASS_TOKEN", secrets), "{policy:?}");
            assert!(!policy.withholds("PATH", secrets), "{policy:?}");
        }
    }

    #[test]
    fn credentials_are_withheld_on_a_cluster_unless_they_are_listed_or_passed() {
        let listed = names(&["NPM_TOKEN"]);
        let secrets = StepSecrets { listed: &listed, others: &[] };
        let policy = EnvironmentPolicy::WithholdCredentials(names(&["AWS_*", "SENTRY_KEY"]));
        let withheld = ["GITHUB_TOKEN", "my_password", "PGPASSWORD", "SIGNING_KEY", "AZURE_TENANT"];
        let cloud = ["GOOGLE_APPLICATION_CREDENTIALS", "OTEL_EXPORTER_OTLP_HEADERS"];
        for name in withheld.into_iter().chain(cloud) {
            assert!(policy.withholds(name, secrets), "{name}");
            assert!(!EnvironmentPolicy::PassAll.withholds(name, secrets), "{name}");
        }
        for name in ["NPM_TOKEN", "AWS_SECRET_ACCESS_KEY", "SENTRY_KEY", "PATH", "HOME", "KEYMAP"] {
            assert!(!policy.withholds(name, secrets), "{name}");
        }
    }
}
