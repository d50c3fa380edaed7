//! Which settings there are.

/// Settings that belong together: those of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSection {
    /// Its key in the file.
    pub name: String,
    /// In the order in which they are told.
    pub settings: Vec<ConfigSetting>,
}

/// Something that can be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSetting {
    /// Its key in the file.
    pub name: String,
    /// What it takes.
    pub takes: ConfigValueKind,
}

/// What a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigValueKind {
    /// `true` or `false`.
    Switch,
    /// A value.
    One,
    /// A value, or a list of them.
    Many,
}

impl ConfigSection {
    /// The setting of this name.
    pub fn setting(&self, name: &str) -> Option<&ConfigSetting> {
        self.settings.iter().find(|setting| setting.name == name)
    }
}
