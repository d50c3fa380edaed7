//! Hides secrets in values, so that settings can be shown on a screen or in a report.

/// The replacement text.
const HIDDEN: &str = "(hidden)";

/// Suffixes of names whose values may be secrets. A file with a secret is no secret: its path is shown.
const SECRET: [&str; 5] = ["token", "secret", "password", "header", "headers"];

/// The value of a setting, with secrets hidden.
pub(crate) fn redacted(setting: &str, value: &str) -> String {
    let last = setting.rsplit('-').next().unwrap_or_default();
    if SECRET.contains(&last) {
        return HIDDEN.to_owned();
    }
    without_user(value)
}

/// An address without its user name and password.
fn without_user(value: &str) -> String {
    let Some((scheme, rest)) = value.split_once("://") else { return value.to_owned() };
    let host_ends = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..host_ends].rfind('@') {
        Some(at) => format!("{scheme}://{HIDDEN}{}", &rest[at..]),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_and_addresses_are_not() {
        assert_eq!(redacted("token-file", "/etc/windlass/token"), "/etc/windlass/token");
        assert_eq!(redacted("token", "abc"), HIDDEN);
        assert_eq!(redacted("otlp-header", "authorization=abc"), HIDDEN);
        assert_eq!(redacted("store", "postgres://me:pw@db/x"), "postgres://(hidden)@db/x");
        assert_eq!(redacted("to", "http://a@b:c@host:1"), "http://(hidden)@host:1");
        assert_eq!(redacted("to", "http://host/a@b"), "http://host/a@b");
    }
}
