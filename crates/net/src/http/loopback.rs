//! Tokens of controllers that listen on loopback addresses of this machine.
//!
//! Every local user can connect to a loopback address, so a controller there requires a token too. The controller creates it
//! and keeps it in a private file of its user, named by its address, where clients and workers of the same user find it:
//! `loopback/HOST-PORT` below `$WINDLASS_STATE_DIR`, else `$XDG_STATE_HOME/windlass`, else `~/.local/state/windlass`.
//!
//! While the controller is down, any local user can listen at its address and receive the token from commands and workers.
//! Therefore each start creates a new token after it has bound the address, and a token sent earlier is useless.

use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::controller_address::ControllerAddress;
use crate::credentials::TokenSecret;
use crate::files::{durable_folder, private_files};

/// Maximum size of a token file.
const FILE_MAX: u64 = 256;

/// Creates the token of the controller at an address, replaces an earlier one, and returns it with its file.
pub fn make_loopback_token(address: SocketAddr) -> io::Result<(String, PathBuf)> {
    let Some(tokens) = tokens_folder() else {
        return Err(io::Error::other("neither WINDLASS_STATE_DIR nor HOME is set"));
    };
    durable_folder::create_durably(&tokens)?;
    let file = tokens.join(name_of(address.ip(), address.port()));
    let token = TokenSecret::generate()?;
    let unfinished = file.with_extension(format!("{}.new", std::process::id()));
    drop(fs::remove_file(&unfinished));
    private_files::write(&unfinished, format!("{}\n", token.text()))?;
    fs::rename(&unfinished, &file)?;
    Ok((token.text().to_owned(), file))
}

/// Returns the tokens that controllers at a loopback address may have created for this user, the likeliest first. `localhost`
/// has two addresses, and each can have a file left by a controller that has ended.
pub(super) fn loopback_tokens(address: &ControllerAddress) -> Vec<String> {
    match tokens_folder() {
        Some(tokens) if address.is_loopback() => tokens_in(&tokens, address),
        Some(_) | None => Vec::new(),
    }
}

fn tokens_in(tokens: &Path, address: &ControllerAddress) -> Vec<String> {
    let host = address.host().trim_start_matches('[').trim_end_matches(']');
    let hosts = if host == "localhost" { vec!["127.0.0.1", "::1"] } else { vec![host] };
    let ips = hosts.into_iter().filter_map(|host| host.parse().ok());
    let files = ips.map(|ip: IpAddr| tokens.join(name_of(ip, address.port())));
    files.filter_map(|file| read(&file)).collect()
}

fn name_of(ip: IpAddr, port: u16) -> String {
    format!("{ip}-{port}")
}

/// Reads a token from a file that belongs to this user and that no other user can read.
fn read(file: &Path) -> Option<String> {
    let metadata = fs::symlink_metadata(file).ok()?;
    let open_to_others = metadata.permissions().mode() & 0o077;
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    if !metadata.is_file() || open_to_others != 0 || !is_own || metadata.len() > FILE_MAX {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let token = text.trim();
    (!token.is_empty()).then(|| token.to_owned())
}

fn tokens_folder() -> Option<PathBuf> {
    let xdg = || Some(absolute("XDG_STATE_HOME")?.join("windlass"));
    let home = || Some(absolute("HOME")?.join(".local/state/windlass"));
    Some(absolute("WINDLASS_STATE_DIR").or_else(xdg).or_else(home)?.join("loopback"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "clients of every kind look here: commands, workers and programs"
)]
fn absolute(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn localhost_has_the_tokens_of_both_its_addresses() {
        let tokens = tempfile::tempdir().unwrap();
        let found = |place: &str| tokens_in(tokens.path(), &place.parse().unwrap());
        assert!(found("http://localhost:7700").is_empty());
        private_files::write(&tokens.path().join("::1-7700"), "wl_six\n").unwrap();
        assert_eq!(found("http://localhost:7700"), ["wl_six"]);
        private_files::write(&tokens.path().join("127.0.0.1-7700"), "wl_four\n").unwrap();
        assert_eq!(found("http://localhost:7700"), ["wl_four", "wl_six"]);
        assert_eq!(found("http://[::1]:7700"), ["wl_six"]);
        assert!(found("http://localhost:7701").is_empty());
    }

    #[test]
    fn a_file_that_others_may_read_is_not_trusted() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("127.0.0.1-7700");
        private_files::write(&file, "wl_0123456789abcdef\n").unwrap();
        assert_eq!(read(&file).as_deref(), Some("wl_0123456789abcdef"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(read(&file), None);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let link = home.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(read(&link), None);
    }
}
