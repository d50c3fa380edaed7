//! The error of a command of git.

use std::fmt;
use std::time::Duration;

use super::git_environment::GitCredentials;

/// Maximum lines of a message. The last ones have the cause.
const LINES_MAX: usize = 8;

/// Messages by which git reports that files of a repository are damaged.
const DAMAGE: &[&str] = &[
    "bad object",
    "bad tree object",
    "bad config",
    "broken ref",
    "corrupt",
    "could not parse",
    "failed to resolve 'head'",
    "could not reset index",
    "did not send all necessary objects",
    "does not point to a valid object",
    "hash mismatch",
    "index file",
    "inflate",
    "invalid object",
    "invalid reference",
    "loose object",
    "missing blob",
    "missing commit",
    "missing tree",
    "not a git repository",
    "not a tree",
    "not a valid object",
    "object file",
    "packfile",
    "unable to parse object",
    "unable to read sha1",
    "unable to read tree",
    "unresolved delta",
];

/// Messages by which a server refuses to send a commit that no ref names.
const REFUSED: &[&str] =
    &["not our ref", "unadvertised object", "couldn't find remote ref", "no such remote ref"];

/// A command of git that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("git could not {action}: {cause}{}", shown(message))]
pub struct GitFailure {
    /// What the command was to do, as a verb with its object.
    pub action: String,
    /// Why it failed.
    pub cause: GitFailureCause,
    /// The last lines of its message, without credentials.
    pub message: String,
}

/// Why a command of git failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitFailureCause {
    /// It could not be started.
    NotStarted(String),
    /// It ended with this code.
    Exit(i32),
    /// This signal ended it.
    Signal(i32),
    /// It took longer than its deadline, and was killed.
    Deadline(Duration),
}

impl GitFailure {
    /// Returns whether the message reports damaged files of this machine. What the server reports does not count.
    pub(in crate::workspaces) fn is_damage(&self) -> bool {
        matches!(self.cause, GitFailureCause::Exit(_)) && self.has_line_with(DAMAGE)
    }

    /// Returns whether the server does not send the commit by its hash.
    pub(super) fn is_refusal(&self) -> bool {
        let of_server = self.message.to_ascii_lowercase();
        REFUSED.iter().any(|known| of_server.contains(known))
    }

    fn has_line_with(&self, known: &[&str]) -> bool {
        let mut lines = self.message.lines().map(str::to_ascii_lowercase);
        lines.any(|line| !line.starts_with("remote:") && known.iter().any(|it| line.contains(it)))
    }
}

impl fmt::Display for GitFailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(error) => {
                write!(f, "it could not be started ({error}): install git on this worker")
            }
            Self::Exit(code) => write!(f, "it ended with code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal} ended it"),
            Self::Deadline(after) => {
                write!(
                    f,
                    "it was killed after {} s: the repository answers too slowly",
                    after.as_secs()
                )
            }
        }
    }
}

fn shown(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!("\n{message}") }
}

/// Returns the last lines of a message without control characters and credentials.
pub(super) fn last_lines(message: &[u8], credentials: Option<&GitCredentials>) -> String {
    let message = String::from_utf8_lossy(message);
    let mut text = without_passwords(&message);
    for secret in credentials.into_iter().flat_map(GitCredentials::secrets) {
        text = text.replace(&secret, "***");
    }
    // A progress line ends with a carriage return.
    let lines = text.split(['\n', '\r']).map(|line| line.replace(char::is_control, " "));
    let lines: Vec<String> = lines.filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LINES_MAX)..].join("\n")
}

/// Replaces `USER:PASSWORD@` in addresses. Git usually does so itself.
fn without_passwords(text: &str) -> String {
    let mut parts = text.split("://");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c == '/' || c.is_whitespace() || c == '\'');
        let (authority, rest) = part.split_at(end.unwrap_or(part.len()));
        let host = authority.rsplit_once('@').filter(|(user, _)| user.contains(':'));
        clean.push_str("://");
        clean.push_str(&host.map_or(authority.to_owned(), |(_, host)| format!("***@{host}")));
        clean.push_str(rest);
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(message: &str) -> GitFailure {
        let (action, cause) = ("fetch".to_owned(), GitFailureCause::Exit(128));
        GitFailure { action, cause, message: message.to_owned() }
    }

    #[test]
    fn damage_reported_by_the_server_is_not_damage_of_the_mirror() {
        assert!(failure("fatal: bad object 0a0a").is_damage());
        assert!(failure("error: inflate: data stream error").is_damage());
        assert!(!failure("remote: fatal: bad object 0a0a\nfatal: early EOF").is_damage());
        assert!(
            !failure("fatal: unable to access 'https://a/': Could not resolve host").is_damage()
        );
        assert!(!failure("fatal: write error: No space left on device").is_damage());
        assert!(!failure("fatal: Could not read from remote repository.").is_damage());
        assert!(!failure("fatal: could not read Username for 'https://a'").is_damage());
        let killed = GitFailure { cause: GitFailureCause::Signal(9), ..failure("bad object") };
        assert!(!killed.is_damage());
    }

    #[test]
    fn message_has_the_last_lines_without_credentials() {
        let credentials = GitCredentials::new("me".to_owned(), "s3cret/+=".to_owned()).unwrap();
        let lines: Vec<String> = (0..20).map(|line| format!("line {line}\u{1b}[1m")).collect();
        let message = lines.join("\n") + "\nat https://u:p4ss@h/x?t=s3cret/+= or s3cret%2F%2B%3D\n";
        let shown = last_lines(message.as_bytes(), Some(&credentials));
        assert_eq!(shown.lines().count(), LINES_MAX);
        assert!(shown.ends_with("at https://***@h/x?t=*** or ***"), "{shown}");
        assert!(!shown.contains('\u{1b}'));
    }
}
