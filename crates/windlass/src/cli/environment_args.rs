//! Arguments for the environment that steps inherit from a worker.

use windlass_core::environment::EnvironmentPolicy;

/// The environment that steps inherit from a cluster's worker.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct EnvironmentArgs {
    /// Pass this variable to steps although its name looks like a credential; NAME, or PREFIX*
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = variable)]
    pass_env: Vec<String>,
}

impl EnvironmentArgs {
    /// The policy: everything but credentials that are not named.
    pub(crate) fn policy(&self) -> EnvironmentPolicy {
        EnvironmentPolicy::WithholdCredentials(self.pass_env.clone())
    }
}

/// Parses the name of a variable, or a prefix and `*`.
fn variable(text: &str) -> Result<String, String> {
    let name = text.strip_suffix('*').unwrap_or(text);
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.is_empty() && name.chars().all(fits) {
        return Ok(text.to_owned());
    }
    Err("write the name of a variable, such as NPM_TOKEN, or a prefix and `*`, such as `AWS_*`"
        .to_owned())
}
