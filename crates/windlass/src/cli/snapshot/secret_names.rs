//! Names of files that often contain secrets. An untracked file with such a name was probably not meant to leave the machine.

/// Names, and beginnings and ends of names.
const NAMES: [&str; 4] = [".env", ".netrc", ".npmrc", ".pypirc"];
const BEGINNINGS: [&str; 3] = [".env.", "id_rsa", "id_ed25519"];
const ENDS: [&str; 4] = [".pem", ".key", ".p12", ".pfx"];

/// A template without secrets, by convention.
const TEMPLATE: &str = ".env.example";

/// Whether the name of this file looks like that of a secret.
pub(super) fn is_secret_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let stem = name.strip_suffix(".json");
    let is_credentials = stem.is_some_and(|stem| stem.starts_with("credentials"));
    name != TEMPLATE
        && (NAMES.contains(&&*name)
            || BEGINNINGS.iter().any(|it| name.starts_with(it))
            || ENDS.iter().any(|it| name.ends_with(it))
            || is_credentials)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_recognised_in_every_folder() {
        for path in [
            ".env",
            "a/.env.local",
            "tls/server.pem",
            "Server.KEY",
            "id_rsa",
            "id_rsa.old",
            "id_ed25519.pub",
            "home/.netrc",
            "credentials.json",
            "credentials-prod.json",
            "a.p12",
            "a.pfx",
            ".npmrc",
            ".pypirc",
        ] {
            assert!(is_secret_name(path), "{path}");
        }
        for path in
            [".env.example", ".envrc", "a.env", "key", "keys/a.rs", ".env/a", "credentials.rs"]
        {
            assert!(!is_secret_name(path), "{path}");
        }
    }
}
