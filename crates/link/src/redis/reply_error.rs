//! The meaning of error replies and failures.

use super::address::RedisAddress;
use super::resp::RespValue;
use crate::mailbox::MailboxError;

/// The meaning of an error by its code, and what to do. Errors that are not listed are temporary, or are shown unchanged.
const KNOWN_ERRORS: &[(&str, RedisErrorKind, &str)] = &[
    (
        "NOAUTH",
        RedisErrorKind::Refused,
        "it requires a password: write it into the address, redis://:PASSWORD@HOST",
    ),
    ("WRONGPASS", RedisErrorKind::Refused, "the user or the password is wrong"),
    (
        "NOPERM",
        RedisErrorKind::Refused,
        "the user lacks a permission: windlass needs +@read +@write +@scripting +time on its keys",
    ),
    ("READONLY", RedisErrorKind::Refused, "it is read-only: use the address of its primary"),
    ("OOM", RedisErrorKind::Full, "it has reached maxmemory: free memory, or raise the limit"),
    (
        "MISCONF",
        RedisErrorKind::Full,
        "it cannot write to its disk and accepts no writes until it can",
    ),
    ("NOREPLICAS", RedisErrorKind::Full, "too few of its replicas are connected"),
];

#[derive(Clone, Copy)]
enum RedisErrorKind {
    Refused,
    Full,
}

/// Returns the error of a reply, if it is one.
pub(super) fn error_of(address: &RedisAddress, value: &RespValue) -> Option<MailboxError> {
    let RespValue::Error(said) = value else { return None };
    let place = address.to_string();
    // An error inside a script is wrapped in the script's own error.
    let code = |known: &str| {
        let in_script = known == "NOPERM" && said.contains("The user executing the script can't");
        in_script || said.split([' ', ':', '-']).any(|word| word == known)
    };
    let known = KNOWN_ERRORS.iter().find(|(known, ..)| code(known));
    Some(match known {
        Some((_, RedisErrorKind::Refused, what)) => {
            MailboxError::Refused { place, reason: format!("{what} ({said})") }
        }
        Some((_, RedisErrorKind::Full, what)) => {
            MailboxError::Full { place, reason: format!("{what} ({said})") }
        }
        None if said.starts_with("ERR") => MailboxError::Refused { place, reason: said.clone() },
        None => MailboxError::Unreachable { place, reason: said.clone() },
    })
}

/// Returns the node that has the keys of the run, if the error is a redirect: `MOVED SLOT HOST:PORT`.
pub(super) fn moved(error: &MailboxError) -> Option<String> {
    let MailboxError::Unreachable { reason, .. } = error else { return None };
    let mut words = reason.split(' ');
    let is_moved = words.next() == Some("MOVED");
    words.nth(1).filter(|_| is_moved).map(str::to_owned)
}

/// A connection that failed.
pub(super) fn connection_error(address: &RedisAddress, reason: &str) -> MailboxError {
    MailboxError::Unreachable { place: address.to_string(), reason: reason.to_owned() }
}

/// A malformed reply.
pub(super) fn malformed_reply(address: &RedisAddress) -> MailboxError {
    refused_error(address, "the server at this address is not Redis")
}

/// A server that cannot be used.
pub(super) fn refused_error(address: &RedisAddress, reason: &str) -> MailboxError {
    MailboxError::Refused { place: address.to_string(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(said: &str) -> MailboxError {
        let address = "redis://here".parse().unwrap();
        error_of(&address, &RespValue::Error(said.to_owned())).unwrap()
    }

    #[test]
    fn errors_state_the_remedy_and_whether_they_are_temporary() {
        let cases = [
            ("NOAUTH Authentication required.", "write it into the address", false),
            ("WRONGPASS invalid username-password pair", "the password is wrong", false),
            ("READONLY You can't write against a read only replica.", "primary", false),
            ("OOM command not allowed when used memory > 'maxmemory'.", "raise the limit", true),
            ("ERR user_script:9: -OOM command not allowed script: 0a1b", "raise the limit", true),
            ("LOADING Redis is loading the dataset in memory", "LOADING", true),
            ("ERR unknown command", "unknown command", false),
        ];
        for (said, text, may_pass) in cases {
            let error = read(said);
            assert!(error.to_string().contains(text), "{error}");
            assert_eq!(error.is_retryable(), may_pass, "{error}");
        }
        assert_eq!(moved(&read("MOVED 3999 10.0.0.7:6381")).as_deref(), Some("10.0.0.7:6381"));
        assert_eq!(moved(&read("TRYAGAIN later")), None);
    }
}
