//! Detects folders on network file systems, where the locks and the shared memory of SQLite may not work.

use std::fs;
use std::path::{Path, PathBuf};

const NETWORK: [&str; 6] = ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs"];

/// Returns the warning for a store in such a folder; `None` if the system has no list of mounts.
pub fn network_warning(folder: &Path) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let folder = fs::canonicalize(folder).ok()?;
    let kind = file_system_type(&mounts, &folder).filter(|kind| NETWORK.contains(kind))?;
    Some(format!(
        "{} is on a network file system ({kind}): a second machine can damage a store there, and \
         a lost connection looks like a broken disk; keep it on a local disk, or use PostgreSQL",
        folder.display()
    ))
}

/// Returns the type of the folder's file system: of the deepest mount on its path, the newest.
pub fn file_system_type<'a>(mounts: &'a str, folder: &Path) -> Option<&'a str> {
    let mounted = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let point = unescape(fields.next()?);
        let kind = fields.next()?;
        folder.starts_with(&point).then(|| (point.components().count(), kind))
    });
    mounted.max_by_key(|(depth, _)| *depth).map(|(_, kind)| kind)
}

/// Decodes a path: the kernel writes a space, a tab, a line end and a backslash as three octal digits.
fn unescape(field: &str) -> PathBuf {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    let plain =
        escapes.iter().fold(field.to_owned(), |path, (code, sign)| path.replace(code, sign));
    PathBuf::from(plain)
}
