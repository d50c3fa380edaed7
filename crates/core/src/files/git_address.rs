//! Addresses, refs and commits of git repositories: the forms that windlass passes to git.
//!
//! Git accepts addresses that run programs (`ext::sh -c …`) and takes arguments that begin with `-` as options. Pipelines,
//! and repositories with submodules, come from other people. Therefore only known forms are accepted.
//!
//! | form | protocol |
//! |---|---|
//! | `https://HOST[:PORT]/PATH` | https |
//! | `ssh://[USER@]HOST[:PORT]/PATH`, `USER@HOST:PATH` | ssh |
//! | `file:///PATH`, `/PATH` | file |

use std::fmt;

/// Maximum bytes of an address or ref. Git and servers accept about as many.
const TEXT_BYTES_MAX: usize = 2048;

/// A valid address of a git repository, without credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitAddress {
    text: String,
    protocol: GitProtocol,
}

/// The protocol by which git reads a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitProtocol {
    /// HTTP over TLS.
    Https,
    /// SSH, with the keys of the worker's user.
    Ssh,
    /// A folder of the worker's machine.
    File,
}

/// The reason why an address, a ref or a commit is refused. The text is shown without control characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitAddressProblem {
    /// It is empty or too long.
    #[error("an address or ref of git has 1 to {TEXT_BYTES_MAX} bytes")]
    Length,
    /// It contains a line end, NUL or another control character. It is not shown.
    #[error("an address or ref of git contains a control character")]
    ControlCharacter,
    /// It would be an option of git.
    #[error("`{0}` begins with `-`, which git would take as an option")]
    Option(String),
    /// It names a helper program.
    #[error("`{0}` names a helper of git, which can run any program: use https, ssh or a path")]
    Helper(String),
    /// It has another form.
    #[error(
        "`{0}` is not an address that is accepted: write https://HOST/PATH, ssh://USER@HOST/PATH, USER@HOST:PATH or an \
         absolute path"
    )]
    Form(String),
    /// It contains a user name, a password or a token. It is not shown.
    #[error(
        "the address of the repository at {0} contains credentials: remove them, and give GIT_USERNAME and GIT_TOKEN as \
         secrets"
    )]
    Credentials(String),
    /// It is not a ref.
    #[error("`{0}` is not a branch, tag or ref of git: write `main`, `v1.0` or `refs/heads/main`")]
    Ref(String),
    /// It is not a commit.
    #[error("`{0}` is not a commit: write all 40 or 64 hexadecimal digits, in lower case")]
    Commit(String),
}

impl GitAddress {
    /// Checks an address.
    pub fn parse(text: &str) -> Result<Self, GitAddressProblem> {
        check_text(text)?;
        let protocol = protocol_of(text)?;
        Ok(Self { text: text.to_owned(), protocol })
    }

    /// Returns the address.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the protocol.
    pub const fn protocol(&self) -> GitProtocol {
        self.protocol
    }

    /// Returns `https://HOST[:PORT]`, to which credentials may be sent; `None` for the other protocols.
    pub fn https_origin(&self) -> Option<&str> {
        let host = self.text.strip_prefix(HTTPS)?.split('/').next()?;
        Some(&self.text[..HTTPS.len() + host.len()])
    }
}

impl fmt::Display for GitAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

const HTTPS: &str = "https://";
const SSH: &str = "ssh://";
const FILE: &str = "file://";

/// Checks a branch, a tag, a full ref or `HEAD`, by the rules of `git check-ref-format`.
pub fn check_ref(text: &str) -> Result<(), GitAddressProblem> {
    check_text(text)?;
    let forbidden = |c: char| c.is_whitespace() || "~^:?*[]\\'\"`$;&|<>(){}!#".contains(c);
    let wrong = text.contains(forbidden) || text.contains("..") || text.contains("@{");
    let name_is_wrong = |name: &str| {
        name.is_empty() || name.starts_with(['.', '-']) || name.strip_suffix(".lock").is_some()
    };
    if wrong || text == "@" || text.ends_with('.') || text.split('/').any(name_is_wrong) {
        return Err(GitAddressProblem::Ref(text.to_owned()));
    }
    Ok(())
}

/// Checks a commit: 40 or 64 hexadecimal digits in lower case.
pub fn check_commit(text: &str) -> Result<(), GitAddressProblem> {
    if is_commit(text) {
        return Ok(());
    }
    check_text(text)?;
    Err(GitAddressProblem::Commit(text.to_owned()))
}

/// Returns whether a text is a commit and no ref.
pub fn is_commit(text: &str) -> bool {
    let digits = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    matches!(text.len(), 40 | 64) && text.bytes().all(digits)
}

fn check_text(text: &str) -> Result<(), GitAddressProblem> {
    if text.is_empty() || text.len() > TEXT_BYTES_MAX {
        return Err(GitAddressProblem::Length);
    }
    if text.chars().any(char::is_control) {
        return Err(GitAddressProblem::ControlCharacter);
    }
    if text.starts_with('-') { Err(GitAddressProblem::Option(text.to_owned())) } else { Ok(()) }
}

fn protocol_of(text: &str) -> Result<GitProtocol, GitAddressProblem> {
    let form = || GitAddressProblem::Form(text.to_owned());
    if let Some(rest) = text.strip_prefix(HTTPS) {
        let (authority, path) = rest.split_once('/').ok_or_else(form)?;
        check_https(authority, path).map(|()| GitProtocol::Https)
    } else if let Some(rest) = text.strip_prefix(SSH) {
        let (authority, path) = rest.split_once('/').ok_or_else(form)?;
        check_ssh(text, authority, path).map(|()| GitProtocol::Ssh)
    } else if let Some(path) = text.strip_prefix(FILE) {
        if path.starts_with('/') { Ok(GitProtocol::File) } else { Err(form()) }
    } else if text.starts_with('/') {
        Ok(GitProtocol::File)
    } else if names_helper(text) {
        Err(GitAddressProblem::Helper(text.to_owned()))
    } else if text.contains("://") {
        let rest = text.split_once("://").map_or("", |(_, rest)| rest);
        let authority = rest.split('/').next().unwrap_or_default();
        match authority.rsplit_once('@') {
            // The text may contain a password, so it is not shown.
            Some((_, host)) => Err(GitAddressProblem::Credentials(host.to_owned())),
            None => Err(form()),
        }
    } else {
        let (authority, path) = text.split_once(':').ok_or_else(form)?;
        check_ssh(text, authority, path).map(|()| GitProtocol::Ssh)
    }
}

/// Whether git would run a helper `git-remote-NAME` for `NAME::ADDRESS`.
fn names_helper(text: &str) -> bool {
    let Some((name, _)) = text.split_once("::") else { return false };
    name.chars().all(|c| c.is_ascii_alphanumeric() || "+-._".contains(c))
}

fn check_https(authority: &str, path: &str) -> Result<(), GitAddressProblem> {
    if let Some((_, host)) = authority.rsplit_once('@') {
        return Err(GitAddressProblem::Credentials(host.to_owned()));
    }
    // A query can contain a token.
    if path.contains(['?', '#']) {
        return Err(GitAddressProblem::Credentials(authority.to_owned()));
    }
    let well_formed = is_host_and_port(authority) && !path.is_empty() && !has_space(path);
    if well_formed {
        Ok(())
    } else {
        Err(GitAddressProblem::Form(format!("{HTTPS}{authority}/{path}")))
    }
}

fn check_ssh(text: &str, authority: &str, path: &str) -> Result<(), GitAddressProblem> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    if user.is_some_and(|user| user.contains([':', '@'])) {
        return Err(GitAddressProblem::Credentials(host.to_owned()));
    }
    let is_user = |user: &str| is_word(user) && !user.starts_with('-');
    let well_formed = user.is_none_or(is_user)
        && is_host_and_port(host)
        && !path.is_empty()
        && !path.starts_with('-')
        && !has_space(path);
    if well_formed { Ok(()) } else { Err(GitAddressProblem::Form(text.to_owned())) }
}

/// A name, an IPv4 address or an IPv6 address in brackets, and perhaps a port.
fn is_host_and_port(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => {
            let digits = host.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte));
            return digits && !host.is_empty() && is_port(rest);
        }
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    is_word(host) && !host.starts_with(['-', '.']) && is_port(port)
}

/// Whether it is empty, or `:` and a port.
fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
}

fn has_space(path: &str) -> bool {
    path.chars().any(char::is_whitespace)
}
