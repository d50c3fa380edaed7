//! The name under which the instances of a run meet.

use super::role::InstanceRoleError;

/// The longest name: it becomes a part of keys and paths.
const NAME_MAX: usize = 128;

/// What CI services say in variables, as far as it names a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CiVariables<'a> {
    /// `GITHUB_RUN_ID`
    pub github_run: Option<&'a str>,
    /// `GITHUB_RUN_ATTEMPT`
    pub github_attempt: Option<&'a str>,
    /// `CI_PIPELINE_ID` of GitLab.
    pub gitlab_pipeline: Option<&'a str>,
}

/// Where instances meet at their link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceRendezvous {
    /// The name that all of them know.
    pub name: String,
    /// Which attempt of the CI service's run this is, where it counts them.
    pub attempt: u32,
    /// The name that the attempt before this one met under.
    pub earlier: Option<String>,
}

impl InstanceRendezvous {
    /// The name that was given, or the one that follows from what the CI service says.
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
