//! Names of files that often contain secrets. An untracked file with such a name was probably not meant to leave the machine.

/// Names, and beginnings and ends of names.
const NAMES: [&str; 11] = [
    ".env",
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".vault-token",
    "credentials",
    "kubeconfig",
    "terraform.tfstate",
];
const BEGINNINGS: [&str; 6] = [".env.", "id_dsa", "id_ecdsa", "id_ed25519", "id_rsa", "secrets."];
const ENDS: [&str; 10] =
    ["-token", ".env", ".jks", ".kdbx", ".key", ".keystore", ".p12", ".pem", ".pfx", ".token"];

/// Folders of which every file counts as secret.
const FOLDERS: [&str; 4] = [".aws", ".gnupg", ".kube", ".ssh"];

/// A template without secrets, by convention.
const TEMPLATE: &str = ".env.example";

/// Whether the name of this file looks like that of a secret.
pub(super) fn is_secret_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let folder = path.rsplit_once('/').map(|(folder, _)| folder).unwrap_or_default();
    let is_in_secret_folder = folder.split('/').any(|name| FOLDERS.contains(&name));
    let stem = name.strip_suffix(".json");
    let is_credentials = stem.is_some_and(|stem| stem.starts_with("credentials"));
    name != TEMPLATE
        && (NAMES.contains(&&*name)
            || BEGINNINGS.iter().any(|it| name.starts_with(it))
            || ENDS.iter().any(|it| name.ends_with(it))
            || is_credentials
            || is_in_secret_folder)
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
            ".ssh/config",
            ".aws/credentials",
            "id_ecdsa",
            "release.jks",
            "prod.env",
            "worker-token",
            "secrets.yml",
        ] {
            assert!(is_secret_name(path), "{path}");
        }
        for path in
            [".env.example", ".envrc", "key", "keys/a.rs", ".env/a", "credentials.rs", "token.rs"]
        {
            assert!(!is_secret_name(path), "{path}");
        }
    }
}
