//! The id of the cluster that a store belongs to.

use std::io;
use std::path::Path;

use rustix::rand::{GetRandomFlags, getrandom};
use windlass_net::files::private_files;

const FILE: &str = "cluster";

/// Whether the stores in a folder belong to a cluster: a controller has led them.
pub fn is_of_cluster(folder: &Path) -> bool {
    folder.join(FILE).exists()
}

/// The id of the cluster whose stores are in a folder. The first call generates a random id. A copy of the store has the
/// same id.
pub fn cluster_id(folder: &Path) -> io::Result<String> {
    let file = folder.join(FILE);
    match std::fs::read_to_string(&file) {
        Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(_) | Err(_) => {}
    }
    let mut chance = [0_u8; 8];
    getrandom(&mut chance, GetRandomFlags::empty())?;
    let id = format!("{:016x}", u64::from_le_bytes(chance));
    set_cluster_id(folder, &id)?;
    Ok(id)
}

/// The id of the cluster whose stores are in a folder; `None` if they belong to none.
#[cfg(all(feature = "postgres", feature = "sqlite"))]
pub(super) fn known_cluster_id(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join(FILE)).ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}

/// Makes the stores in a folder those of this cluster.
pub(super) fn set_cluster_id(folder: &Path, id: &str) -> io::Result<()> {
    let draft = folder.join(format!("{FILE}.new"));
    private_files::write(&draft, format!("{id}\n"))?;
    std::fs::rename(draft, folder.join(FILE))
}
