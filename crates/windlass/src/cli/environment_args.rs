//! Arguments that say what steps inherit of a worker's environment.

use windlass_core::environment::EnvironmentPolicy;

/// What steps of a cluster's worker inherit of its environment.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct EnvironmentArgs {
    /// Pass this variable to steps although its name looks like that of a credential; NAME, or PREFIX*
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = variable)]
    pass_env: Vec<String>,
}

impl EnvironmentArgs {
    /// What is passed: everything but credentials that were not named.
    pub(crate) fn policy(&self) -> EnvironmentPolicy {
        EnvironmentPolicy::WithholdCredentials(self.pass_env.clone())
    }
}

/// A name of a variable, or the beginning of names and `*`.
fn variable(text: &str) -> Result<String, String> {
    let name = text.strip_suffix('*').unwrap_or(text);
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.is_empty() && name.chars().all(fits) {
        return Ok(text.to_owned());
    }
    Err("write the name of a variable, such as NPM_TOKEN, or a prefix and `*`, such as `AWS_*`"
        .to_owned())
}
