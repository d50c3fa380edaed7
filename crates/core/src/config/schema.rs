//! The known settings.

/// The settings of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSection {
    /// The key in the file.
    pub name: String,
    /// The settings, in display order.
    pub settings: Vec<ConfigSetting>,
}

/// A known setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSetting {
    /// The key in the file.
    pub name: String,
    /// The kind of its value.
    pub takes: ConfigValueKind,
}

/// The kind of value that a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigValueKind {
    /// `true` or `false`.
    Switch,
    /// One value.
    One,
    /// One value or a list.
    Many,
}

impl ConfigSection {
    /// Returns the setting with this name.
    pub fn setting(&self, name: &str) -> Option<&ConfigSetting> {
        self.settings.iter().find(|setting| setting.name == name)
    }
}
