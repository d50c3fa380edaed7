//! What the environment says.

use std::collections::BTreeSet;

use windlass_core::config::ConfigValueKind;
use windlass_core::spec::nearest_name;

use super::catalogue::{CONFIG, CliSetting, PREFIX, SettingsCatalogue, SettingsSection};
use super::layers::{SettingOrigin, SettingValue};
use crate::cli::error::CliError;

/// What steps get, and what windlass tells its own processes: no settings, and no mistakes.
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

/// What instances of one run are told, beside what is called like a setting.
const INSTANCE_VARIABLES: [&str; 5] = [
    "WINDLASS_INSTANCE",
    "WINDLASS_LINK_GRACE",
    "WINDLASS_MIN_WORKERS",
    "WINDLASS_RUN_ID",
    "WINDLASS_TOTAL",
];

/// What steps get for the axes of their matrix, whatever these are called.
const AXIS_PREFIX: &str = "WINDLASS_MATRIX_";

/// The variables of a process, those with a value.
#[derive(Clone, Debug, Default)]
pub(crate) struct EnvironmentSettings(Vec<(String, String)>);

impl EnvironmentSettings {
    /// Those of ours among these. One that is empty counts as absent.
    pub(crate) fn new(all: Vec<(String, String)>) -> Self {
        let ours = |(name, value): &(String, String)| name.starts_with(PREFIX) && !value.is_empty();
        Self(all.into_iter().filter(ours).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(named, _)| named == name).map(|(_, value)| &**value)
    }

    /// What the variable of a setting says. Several values stand between commas.
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

    /// Refuses a variable that is almost the name of a setting: whoever wrote it thinks that it is heard.
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
                let what = format!("nothing reads the environment variable {name}");
                return Err(CliError::usage(what).hint(format!(
                    "did you mean {PREFIX}{near}? `windlass config show` lists what is read"
                )));
            }
        }
        Ok(())
    }

    /// Refuses a value that the setting cannot have.
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
    fn names_that_are_almost_right_are_refused() {
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
    fn an_empty_variable_is_none_and_commas_make_a_list() {
        let catalogue = SettingsCatalogue::new();
        let serve = catalogue.section("serve").expect("there is one");
        let variables = variables(&[("WINDLASS_LISTEN", ""), ("WINDLASS_LABEL", "gpu, spot")]);
        let said =
            |name| variables.value_of(serve.setting(name).expect("it is one")).map(|it| it.values);
        assert_eq!(said("listen"), None);
        assert_eq!(said("label"), Some(vec!["gpu".to_owned(), "spot".to_owned()]));
    }
}
