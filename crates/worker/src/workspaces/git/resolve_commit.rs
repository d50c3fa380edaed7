//! From a branch or tag to a commit, for the process that submits a run.

use std::path::Path;
use std::time::Duration;

use windlass_core::files::GitAddress;
use windlass_core::files::git_address::{check_ref, is_commit};

use super::git_command::GitCommand;
use super::git_environment::{GitCredentials, RemoteAccess};
use crate::workspaces::workspace_error::WorkspaceError;

/// A question to a repository: which commit has this name?
#[derive(Clone, Debug)]
pub struct CommitQuery {
    /// The address of the repository.
    pub url: String,
    /// A branch, a tag, a full ref, `HEAD` or a commit.
    pub reference: String,
    /// Maximum time.
    pub within: Duration,
    /// Credentials, if the repository needs them.
    pub credentials: Option<GitCredentials>,
}

/// Asks the repository for the commit of a branch, tag or ref. A tag has precedence over a branch of the same name, as for
/// git. The repository is not asked for a commit. `program` is the git program.
pub async fn resolve_commit(program: &Path, query: &CommitQuery) -> Result<String, WorkspaceError> {
    let address = GitAddress::parse(&query.url)?;
    if is_commit(&query.reference) {
        return Ok(query.reference.clone());
    }
    check_ref(&query.reference)?;
    let remote = RemoteAccess { address, credentials: query.credentials.clone() };
    let action = format!("list the refs of {}", query.url);
    // A folder without a repository: its settings would count.
    let list = GitCommand::new(program, Path::new("/"), action, query.within).with_remote(&remote);
    let list = list.args(["ls-remote", "--quiet", "--end-of-options", &query.url]);
    let listed = list.args(candidates(&query.reference)).run().await?;
    let found = choose(&String::from_utf8_lossy(&listed), &query.reference);
    found.ok_or_else(|| WorkspaceError::NoRef {
        url: query.url.clone(),
        reference: query.reference.clone(),
    })
}

/// The refs that a name can mean, the first choice first. `^{}` is the commit of an annotated tag.
fn candidates(reference: &str) -> Vec<String> {
    if reference == "HEAD" || reference.starts_with("refs/") {
        return vec![format!("{reference}^{{}}"), reference.to_owned()];
    }
    let tag = format!("refs/tags/{reference}");
    vec![format!("{tag}^{{}}"), tag, format!("refs/heads/{reference}")]
}

/// The server may list other refs whose names end alike.
fn choose(listed: &str, reference: &str) -> Option<String> {
    let commit_of = |wanted: &str| {
        let mut refs = listed.lines().filter_map(|line| line.split_once('\t'));
        let (commit, _) = refs.find(|(_, name)| *name == wanted)?;
        is_commit(commit).then(|| commit.to_owned())
    };
    candidates(reference).iter().find_map(|wanted| commit_of(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_precedes_branch_and_its_commit_precedes_the_tag() {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|digit| digit.repeat(40));
        let listed = format!(
            "{a}\trefs/heads/v1\n{b}\trefs/tags/v1\n{c}\trefs/tags/v1^{{}}\n{d}\trefs/heads/x/refs/heads/v1\n"
        );
        assert_eq!(choose(&listed, "v1"), Some(c));
        assert_eq!(choose(&listed, "refs/heads/v1"), Some(a));
        assert_eq!(choose(&listed, "refs/tags/v2"), None);
        assert_eq!(choose("not a commit\tHEAD\n", "HEAD"), None);
    }
}
