//! Which settings there are.

/// Settings that belong together: those of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its key in the file.
    pub name: String,
    /// In the order in which they are told.
    pub settings: Vec<Setting>,
}

/// Something that can be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its key in the file.
    pub name: String,
    /// What it takes.
    pub takes: Takes,
}

/// What a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// `true` or `false`.
    Switch,
    /// A value.
    One,
    /// A value, or a list of them.
    Many,
}

impl Section {
    /// The setting of this name.
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.name == name)
    }
}
