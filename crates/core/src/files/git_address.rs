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
    let name_is_wrong =
        |name: &str| name.is_empty() || name.starts_with(['.', '-']) || name.ends_with(".lock");
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

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> GitAddressProblem {
        GitAddress::parse(text).expect_err(text)
    }

    #[test]
    fn known_forms_are_accepted() {
        for (text, protocol) in [
            ("https://example.com/a/b.git", GitProtocol::Https),
            ("https://example.com:8443/größe", GitProtocol::Https),
            ("https://[::1]:8443/a", GitProtocol::Https),
            ("ssh://git@example.com:22/a", GitProtocol::Ssh),
            ("ssh://example.com/~me/a", GitProtocol::Ssh),
            ("git@example.com:a/b.git", GitProtocol::Ssh),
            ("/srv/git/my repository 日本", GitProtocol::File),
            ("file:///srv/git/a", GitProtocol::File),
        ] {
            let address = GitAddress::parse(text).expect(text);
            assert_eq!((address.protocol(), address.as_str()), (protocol, text));
        }
    }

    #[test]
    fn credentials_go_to_the_origin_of_the_address_only() {
        let origin =
            |text: &str| GitAddress::parse(text).expect(text).https_origin().map(str::to_owned);
        assert_eq!(origin("https://a.example:8443/x/y").as_deref(), Some("https://a.example:8443"));
        assert_eq!(origin("ssh://git@a.example/x"), None);
        assert_eq!(origin("/srv/git/a"), None);
    }

    #[test]
    fn options_and_helpers_are_refused() {
        for text in ["--upload-pack=touch /tmp/x", "-u./x", "-"] {
            assert_eq!(problem(text), GitAddressProblem::Option(text.to_owned()));
        }
        for text in ["ext::sh -c touch% /tmp/x", "fd::17", "https::https://a/b", "::x", "a.b::c"] {
            assert_eq!(problem(text), GitAddressProblem::Helper(text.to_owned()));
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "a",
            "../a",
            "./a",
            "~/a",
            "http://a/b",
            "git://a/b",
            "ftp://a/b",
            "file://host/a",
            "file:a/b c",
            "https://example.com",
            "https:///a",
            "https://-a/b",
            "https://a:b/c",
            "https://a b/c",
            "https://a/b c",
            "ssh://-oProxyCommand=x/a",
            "ssh://-l@host/a",
            "-oProxyCommand=x:a/b c",
            "git@-oProxyCommand:a",
            "git@host:-a",
            "git@host:",
            "C:\\a b",
            "a;b:c",
            "$(x):y",
        ] {
            let refused = problem(text);
            let known =
                matches!(refused, GitAddressProblem::Form(_) | GitAddressProblem::Option(_));
            assert!(known, "{text}: {refused:?}");
        }
        assert_eq!(problem(""), GitAddressProblem::Length);
        assert_eq!(problem(&"/a".repeat(2000)), GitAddressProblem::Length);
        for text in ["https://a/b\n", "https://a/\0", "/a\u{7f}", "/a\u{85}b", "\u{1b}[31m"] {
            assert_eq!(problem(text), GitAddressProblem::ControlCharacter);
        }
    }

    #[test]
    fn credentials_are_refused_and_not_shown() {
        for text in [
            "https://me:pass-1234@a.example/b",
            "https://pass-1234@a.example/b",
            "https://a.example/b?token=pass-1234",
            "https://a.example/b#pass-1234",
            "ssh://me:pass-1234@a.example/b",
            "http://me:pass-1234@a.example/b",
        ] {
            let refused = problem(text);
            assert!(
                matches!(&refused, GitAddressProblem::Credentials(host) if host == "a.example")
            );
            assert!(!refused.to_string().contains("pass-1234"));
        }
    }

    #[test]
    fn refs_follow_the_rules_of_git() {
        for text in
            ["main", "HEAD", "v1.0", "feature/größe", "refs/heads/a-b_c", "a@b", "dependabot/x-1.2"]
        {
            assert_eq!(check_ref(text), Ok(()), "{text}");
        }
        for text in [
            "-b",
            "a..b",
            "../a",
            "a/../b",
            "a b",
            "a~1",
            "a^{}",
            "a:b",
            "a?",
            "a*",
            "a[b",
            "a\\b",
            "@",
            "a@{1}",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.lock",
            "a.lock/b",
            "a.",
            "a/-b",
            "$(a)",
            "a;b",
            "",
            "--upload-pack=x",
            "a\nb",
        ] {
            assert!(check_ref(text).is_err(), "{text}");
        }
    }

    #[test]
    fn commits_are_whole_hashes() {
        assert!(is_commit(&"0a".repeat(20)));
        assert!(is_commit(&"0a".repeat(32)));
        for text in ["", "main", "0a0a0a0", &"0A".repeat(20), &"0g".repeat(20), &"0".repeat(41)] {
            assert!(check_commit(text).is_err(), "{text}");
        }
    }
}
