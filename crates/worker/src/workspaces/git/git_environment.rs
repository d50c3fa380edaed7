//! The settings and variables of a command of git.
//!
//! Neither the system's settings nor those of the user or of a repository decide what git executes: programs such as hooks
//! and monitors are switched off, and only known protocols are allowed.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fmt::Write as _;

use windlass_core::files::{GitAddress, GitProtocol};

/// The variables of the worker that git gets: where programs and keys are, and the way through a proxy.
const PASSED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    "GIT_SSH_COMMAND",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
];

const VARIABLES: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    // Messages are compared.
    ("LC_ALL", "C"),
];

/// SSH asks no questions, and gives up on a host that does not answer.
const SSH_COMMAND: &str = "ssh -oBatchMode=yes -oConnectTimeout=30 -oServerAliveInterval=30";

const CONFIG: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    ("credential.helper", ""),
    ("gc.auto", "0"),
    // Loose refs have times, by which unused ones are removed.
    ("gc.packRefs", "false"),
    ("maintenance.auto", "false"),
    // A fetch that is killed leaves no loose objects, but an unfinished pack that git ignores.
    ("fetch.unpackLimit", "1"),
    ("fetch.writeCommitGraph", "false"),
    ("submodule.recurse", "false"),
    ("advice.detachedHead", "false"),
    // A connection without data ends before the deadline of the command.
    ("http.lowSpeedLimit", "1"),
    ("http.lowSpeedTime", "120"),
];

/// Answers git with the variables, so that secrets are in no argument and in no file.
const HELPER: &str = "!f() { test \"$1\" = get && printf 'username=%s\\npassword=%s\\n' \"$GIT_USERNAME\" \"$GIT_TOKEN\"; }; f";

/// The name and the token for a repository, from secrets of the step. Git gets them for the host of the repository only.
#[derive(Clone, PartialEq, Eq)]
pub struct GitCredentials {
    username: String,
    token: String,
}

impl GitCredentials {
    /// Creates credentials. `None` if one is empty, or has a line end or NUL, which git cannot pass on.
    pub fn new(username: String, token: String) -> Option<Self> {
        let is_valid = |text: &str| !text.is_empty() && !text.contains(['\n', '\r', '\0']);
        (is_valid(&username) && is_valid(&token)).then_some(Self { username, token })
    }

    /// Returns the forms in which the token can be in a message. The username is usually a word such as `git`.
    pub(super) fn secrets(&self) -> [String; 2] {
        let mut encoded = String::new();
        for byte in self.token.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                encoded.push(char::from(byte));
            } else {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
        [self.token.clone(), encoded]
    }
}

/// The token is not shown.
impl fmt::Debug for GitCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitCredentials").field("username", &self.username).finish_non_exhaustive()
    }
}

/// The access of a command to a remote repository.
#[derive(Clone, Debug)]
pub(super) struct RemoteAccess {
    pub(super) address: GitAddress,
    pub(super) credentials: Option<GitCredentials>,
}

impl RemoteAccess {
    /// The protocols that git may use, for submodules too. Only a repository in a folder may have submodules in folders.
    fn protocols(&self) -> &'static str {
        match self.address.protocol() {
            GitProtocol::Https | GitProtocol::Ssh => "https:ssh",
            GitProtocol::File => "https:ssh:file",
        }
    }
}

/// Returns all variables of a command.
pub(super) fn variables(remote: Option<&RemoteAccess>) -> Vec<(OsString, OsString)> {
    let inherited = std::env::vars_os().filter(|(name, _)| PASSED_ON.iter().any(|it| name == it));
    let mut all: Vec<(OsString, OsString)> = inherited.collect();
    let mut add = |name: &str, value: &str| all.push((name.into(), value.into()));
    for (name, value) in VARIABLES {
        add(name, value);
    }
    add("GIT_ALLOW_PROTOCOL", remote.map_or("none", RemoteAccess::protocols));
    let mut config: Vec<(String, String)> =
        CONFIG.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    if let Some(remote) = remote
        && let Some(origin) = remote.address.https_origin()
        && let Some(credentials) = &remote.credentials
    {
        config.push((format!("credential.{origin}.helper"), HELPER.to_owned()));
        add("GIT_USERNAME", &credentials.username);
        add("GIT_TOKEN", &credentials.token);
    }
    add("GIT_CONFIG_COUNT", &config.len().to_string());
    for (at, (key, value)) in config.iter().enumerate() {
        add(&format!("GIT_CONFIG_KEY_{at}"), key);
        add(&format!("GIT_CONFIG_VALUE_{at}"), value);
    }
    if !all.iter().any(|(name, _)| name == OsStr::new("GIT_SSH_COMMAND")) {
        all.push(("GIT_SSH_COMMAND".into(), SSH_COMMAND.into()));
    }
    all
}
