//! Every setting in Markdown: a part of `docs/reference/configuration.md`.

use std::fmt::Write as _;

use windlass_core::config::ConfigValueKind;

use super::catalogue::{CliSetting, SettingsCatalogue, SettingsSection};

/// A table for each section.
pub(crate) fn reference(catalogue: &SettingsCatalogue) -> String {
    catalogue.sections.iter().map(table).collect::<Vec<_>>().join("\n")
}

fn table(section: &SettingsSection) -> String {
    let mut text = format!("### `{}`\n\n", section.name);
    text.push_str("| setting | variable | default | |\n|---|---|---|---|\n");
    for setting in &section.settings {
        let CliSetting { name, variable, about, .. } = setting;
        let (takes, default) = (takes(setting), default(setting));
        let about = about.replace('|', "\\|");
        let _ = writeln!(text, "| `{name}`{takes} | `{variable}` | {default} | {about} |");
    }
    text
}

const fn takes(setting: &CliSetting) -> &'static str {
    match setting.takes {
        ConfigValueKind::Many => ", a list",
        ConfigValueKind::Switch | ConfigValueKind::One => "",
    }
}

fn default(setting: &CliSetting) -> String {
    match (setting.takes, &*setting.default) {
        (ConfigValueKind::Switch, _) => "`false`".to_owned(),
        (ConfigValueKind::One | ConfigValueKind::Many, []) => String::new(),
        (ConfigValueKind::One | ConfigValueKind::Many, values) => {
            format!("`{}`", values.join(", "))
        }
    }
}
