//! Settings in the environment.

use std::collections::BTreeSet;

use windlass_core::config::ConfigValueKind;
use windlass_core::spec::nearest_name;

use super::catalogue::{CONFIG, CliSetting, PREFIX, SettingsCatalogue, SettingsSection};
use super::layers::{SettingOrigin, SettingValue};
use crate::cli::error::CliError;

/// Variables of steps, and those that windlass sets for its own processes: neither settings nor mistakes.
const STEP_VARIABLES: [&str; 12] = [
    "WINDLASS_ATTEMPT",
    "WINDLASS_FENCE",
    "WINDLASS_GUARD",
    "WINDLASS_GUARD_SOCKET",
    "WINDLASS_IDEMPOTENCY_KEY",
    "WINDLASS_OUTPUT",
    "WINDLASS_RUN",
    "WINDLASS_RUN_SECRET",
    "WINDLASS_STATE_DIR",
    "WINDLASS_STEP",
    "WINDLASS_SUMMARY",
    "WINDLASS_WORKER",
];

/// Variables of instances, besides those named like a setting.
const INSTANCE_VARIABLES: [&str; 5] = [
    "WINDLASS_INSTANCE",
    "WINDLASS_LINK_GRACE",
    "WINDLASS_MIN_WORKERS",
    "WINDLASS_RUN_ID",
    "WINDLASS_TOTAL",
];

/// The prefix of variables for matrix axes.
const AXIS_PREFIX: &str = "WINDLASS_MATRIX_";

/// The variables of a process that have a value.
#[derive(Clone, Debug, Default)]
pub(crate) struct EnvironmentSettings(Vec<(String, String)>);

impl EnvironmentSettings {
    /// The `WINDLASS_` variables among these. An empty one counts as absent.
    pub(crate) fn new(all: Vec<(String, String)>) -> Self {
        let ours = |(name, value): &(String, String)| name.starts_with(PREFIX) && !value.is_empty();
        Self(all.into_iter().filter(ours).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(named, _)| named == name).map(|(_, value)| &**value)
    }

    /// The value of a setting's variable. Several values are separated by commas.
    pub(super) fn value_of(&self, setting: &CliSetting) -> Option<SettingValue> {
        let value = self.get(&setting.variable)?;
        let values = match setting.takes {
            ConfigValueKind::Many => {
                value.split(',').map(|value| value.trim().to_owned()).collect()
            }
            ConfigValueKind::Switch | ConfigValueKind::One => vec![value.to_owned()],
        };
        Some(SettingValue { values, origin: SettingOrigin::Variable(setting.variable.clone()) })
    }

    /// Refuses a variable whose name is almost that of a setting, since it would have no effect.
    pub(super) fn check_names(&self, catalogue: &SettingsCatalogue) -> Result<(), CliError> {
        let settings = catalogue.sections.iter().flat_map(|section| &section.settings);
        let mut known: BTreeSet<&str> = settings.map(|setting| &*setting.variable).collect();
        known.insert(CONFIG);
        let heard = |name: &str| {
            let ours = STEP_VARIABLES.contains(&name) || INSTANCE_VARIABLES.contains(&name);
            known.contains(name) || ours || name.starts_with(AXIS_PREFIX)
        };
        for (name, _) in self.0.iter().filter(|(name, _)| !heard(name)) {
            let short = |name: &'_ str| name.trim_start_matches(PREFIX).to_owned();
            let names: Vec<String> = known.iter().map(|name| short(name)).collect();
            if let Some(near) = nearest_name(&short(name), names.iter().map(String::as_str)) {
                let what = format!("no setting reads the environment variable {name}");
                return Err(CliError::usage(what).hint(format!(
                    "did you mean {PREFIX}{near}? `windlass config show` lists the variables"
                )));
            }
        }
        Ok(())
    }

    /// Refuses a value that is invalid for the setting.
    pub(super) fn check_values(&self, section: &SettingsSection) -> Result<(), CliError> {
        for setting in &section.settings {
            let Some(said) = self.value_of(setting) else { continue };
            let wrong = said.values.iter().find_map(|value| section.complaint(setting, value));
            if let Some(wrong) = wrong {
                let what = format!("the environment variable {} {wrong}", setting.variable);
                return Err(CliError::usage(what));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(all: &[(&str, &str)]) -> EnvironmentSettings {
        EnvironmentSettings::new(
            all.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        )
    }

    #[test]
    fn misspelt_names_are_refused() {
        let catalogue = SettingsCatalogue::new();
        let refused = |name: &str| variables(&[(name, "x")]).check_names(&catalogue).is_err();
        for wrong in
            ["WINDLASS_LEASETTL", "WINDLASS_TOKENFILE", "WINDLASS_LISTN", "WINDLASS_CONIFG"]
        {
            assert!(refused(wrong), "{wrong}");
        }
        let right =
            ["WINDLASS_LEASE_TTL", "WINDLASS_RUN", "WINDLASS_MATRIX_LISTEM", "WINDLASS_CONFIG"];
        for right in right.into_iter().chain(["WINDLASS_OF_MY_OWN", "LISTN"]) {
            assert!(!refused(right), "{right}");
        }
        for variable in STEP_VARIABLES.into_iter().chain(INSTANCE_VARIABLES) {
            assert!(!refused(variable), "{variable}");
        }
    }

    #[test]
    fn empty_variable_counts_as_absent_and_commas_separate_values() {
        let catalogue = SettingsCatalogue::new();
        let serve = catalogue.section("serve").expect("there is one");
        let variables = variables(&[("WINDLASS_LISTEN", ""), ("WINDLASS_LABEL", "gpu, spot")]);
        let said =
            |name| variables.value_of(serve.setting(name).expect("it is one")).map(|it| it.values);
        assert_eq!(said("listen"), None);
        assert_eq!(said("label"), Some(vec!["gpu".to_owned(), "spot".to_owned()]));
    }
}
