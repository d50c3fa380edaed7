//! The name under which the instances of a run meet.

use super::role::InstanceRoleError;

/// The longest name. It becomes a part of keys and paths.
const NAME_MAX: usize = 128;

/// Variables of CI services that identify a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CiVariables<'a> {
    /// `GITHUB_RUN_ID`.
    pub github_run: Option<&'a str>,
    /// `GITHUB_RUN_ATTEMPT`.
    pub github_attempt: Option<&'a str>,
    /// `CI_PIPELINE_ID` of GitLab.
    pub gitlab_pipeline: Option<&'a str>,
}

/// The name under which instances meet at their link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceRendezvous {
    /// The name, which is the same for all instances.
    pub name: String,
    /// The attempt number of the CI service's run, if the service counts attempts.
    pub attempt: u32,
    /// The name of the attempt before this one.
    pub earlier: Option<String>,
}

impl InstanceRendezvous {
    /// Returns the configured name, or one that is derived from the variables of the CI service.
    pub(super) fn resolve(
        given: Option<&str>,
        ci: CiVariables<'_>,
    ) -> Result<Self, InstanceRoleError> {
        let attempt = ci.github_attempt.and_then(|text| text.parse().ok()).unwrap_or(1);
        let of_attempt = |run: &str, attempt: u32| format!("github-{run}-{attempt}");
        let (name, earlier) = match (given, ci.github_run, ci.gitlab_pipeline) {
            (Some(name), ..) => (name.to_owned(), None),
            (None, Some(run), _) => {
                let earlier = (attempt > 1).then(|| of_attempt(run, attempt - 1));
                (of_attempt(run, attempt), earlier)
            }
            (None, None, Some(pipeline)) => (format!("gitlab-{pipeline}"), None),
            (None, None, None) => return Err(InstanceRoleError::NoName),
        };
        if !is_name(&name) {
            return Err(InstanceRoleError::BadName(name));
        }
        Ok(Self { name, attempt, earlier })
    }
}

fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    (1..=NAME_MAX).contains(&text.len()) && text.chars().all(fits) && !text.starts_with('.')
}
