//! Every setting in Markdown: a part of `docs/configuration.md`.

use std::fmt::Write as _;

use windlass_core::config::Takes;

use super::catalogue::{Catalogue, Section, Setting};

/// A table for each section.
pub(crate) fn reference(catalogue: &Catalogue) -> String {
    catalogue.sections.iter().map(table).collect::<Vec<_>>().join("\n")
}

fn table(section: &Section) -> String {
    let mut text = format!("### `{}`\n\n", section.name);
    text.push_str("| setting | variable | default | |\n|---|---|---|---|\n");
    for setting in &section.settings {
        let Setting { name, variable, about, .. } = setting;
        let (takes, default) = (takes(setting), default(setting));
        let about = about.replace('|', "\\|");
        let _ = writeln!(text, "| `{name}`{takes} | `{variable}` | {default} | {about} |");
    }
    text
}

const fn takes(setting: &Setting) -> &'static str {
    match setting.takes {
        Takes::Many => ", a list",
        Takes::Switch | Takes::One => "",
    }
}

fn default(setting: &Setting) -> String {
    match (setting.takes, &*setting.default) {
        (Takes::Switch, _) => "`false`".to_owned(),
        (Takes::One | Takes::Many, []) => String::new(),
        (Takes::One | Takes::Many, values) => format!("`{}`", values.join(", ")),
    }
}
