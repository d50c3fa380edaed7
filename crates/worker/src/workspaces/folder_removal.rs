//! Removal of trees that a step has made unreadable, at once for every observer.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use windlass_net::files::private_files;
use windlass_net::random;

/// How often a removal begins anew: a process that a step left can still write, and a second sweep can remove the same tree.
const ROUNDS: usize = 4;

/// Moves a tree to the folder of removed trees, and returns its new path; `None` if it is not there.
pub(super) fn move_to_trash(tree: &Path, trash: &Path) -> io::Result<Option<PathBuf>> {
    private_files::create_folders(trash)?;
    let moved = trash.join(random::random_hex());
    match fs::rename(tree, &moved) {
        // A folder without permission to write cannot change its parent.
        Err(error) if error.kind() == ErrorKind::PermissionDenied && is_folder(tree) => {
            fs::set_permissions(tree, Permissions::from_mode(0o700))?;
            fs::rename(tree, &moved).map(|()| Some(moved))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        renamed => renamed.map(|()| Some(moved)),
    }
}

/// Removes a tree. Links in it are removed, not followed. A missing tree is no error.
pub(super) fn remove_tree(tree: &Path) -> io::Result<()> {
    let mut last = Ok(());
    for _ in 0..ROUNDS {
        last = match fs::remove_dir_all(tree) {
            Err(error) if error.kind() == ErrorKind::NotFound && !is_folder(tree) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                open_folders(tree);
                Err(error)
            }
            Ok(()) => return Ok(()),
            failed => failed,
        };
    }
    last
}

/// Gives the owner access to each folder. What fails here fails again when the tree is removed.
fn open_folders(tree: &Path) {
    let mut left = vec![tree.to_owned()];
    while let Some(folder) = left.pop() {
        drop(fs::set_permissions(&folder, Permissions::from_mode(0o700)));
        let entries = folder.read_dir().into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        left.extend(folders.map(|entry| entry.path()));
    }
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|it| it.is_dir())
}
