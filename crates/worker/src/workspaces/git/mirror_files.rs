//! The repositories of a mirror, written without git.
//!
//! A mirror has two repositories with one folder of objects. Steps see `shared.git`, of which their folders are worktrees,
//! and can change its settings, hooks and branches. Windlass fetches with `fetch.git`, which steps do not see: their settings
//! never meet credentials, and the refs that keep the objects are out of their reach.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use windlass_net::files::private_files;
use windlass_net::random;

use crate::workspaces::file_lock::{entries, touch};
use crate::workspaces::folder_removal::{move_to_trash, remove_tree};

/// Maximum refs that keep commits; beyond it the least recently used are removed. Each takes part in a fetch.
const KEPT_COMMITS_MAX: usize = 512;

/// The number of packs beyond which objects are packed anew: git searches one pack after the other.
const PACKS_MAX: usize = 20;

/// The file that marks a mirror as damaged.
const DAMAGED: &str = "damaged";

/// A mirror of one repository, below `git/KEY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MirrorFiles(PathBuf);

/// The hash by which a repository names its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectFormat {
    Sha1,
    Sha256,
}

impl ObjectFormat {
    /// Returns the format of a valid commit.
    pub(super) const fn of_commit(commit: &str) -> Self {
        if commit.len() == 64 { Self::Sha256 } else { Self::Sha1 }
    }
}

impl MirrorFiles {
    /// Finds the latest mirror that is not damaged.
    pub(super) fn find(root: &Path) -> io::Result<Option<Self>> {
        let sound = |(_, path): &(u64, PathBuf)| !path.join(DAMAGED).exists();
        let latest = numbered(root)?.into_iter().filter(sound).max();
        Ok(latest.map(|(_, path)| Self(path)))
    }

    /// Makes another, empty mirror. The caller holds the lock of fetches.
    pub(super) fn create(root: &Path, format: ObjectFormat) -> io::Result<Self> {
        let number = numbered(root)?.into_iter().map(|(number, _)| number + 1).max().unwrap_or(1);
        let (unfinished, path) = (root.join("new"), root.join(number.to_string()));
        remove_tree(&unfinished)?;
        private_files::create_folders(&unfinished.join("shared.git/objects"))?;
        private_files::create_folders(&unfinished.join("fetch.git/refs"))?;
        symlink("../shared.git/objects", unfinished.join("fetch.git/objects"))?;
        let fetch = unfinished.join("fetch.git");
        private_files::write(&fetch.join("HEAD"), HEAD)?;
        private_files::write(&fetch.join("config"), config(format, "bare = true", ""))?;
        // The other files of `shared.git` are written before its first use.
        private_files::write(&unfinished.join("format"), format.name())?;
        fs::rename(&unfinished, &path)?;
        let mirror = Self(path);
        mirror.reset()?;
        Ok(mirror)
    }

    /// The repository of worktrees.
    pub(super) fn shared(&self) -> PathBuf {
        self.0.join("shared.git")
    }

    /// The repository with which windlass fetches.
    pub(super) fn fetch(&self) -> PathBuf {
        self.0.join("fetch.git")
    }

    /// What is being removed from the mirror.
    pub(super) fn trash(&self) -> PathBuf {
        self.0.join("trash")
    }

    /// Makes an empty folder a worktree with a detached commit and without files, and returns its part in the mirror.
    ///
    /// `git worktree add` fails now and then while another one runs, since it reads what the other one has half written.
    /// Here the part appears at once. Its files are those that git documents in gitrepository-layout.
    pub(super) fn add_worktree(&self, folder: &Path, commit: &str) -> io::Result<PathBuf> {
        let name = random::random_hex();
        let (unfinished, worktrees) = (self.trash().join(&name), self.shared().join("worktrees"));
        private_files::create_folders(&unfinished)?;
        private_files::create_folders(&worktrees)?;
        let (link, metadata) = (folder.join(".git"), worktrees.join(&name));
        private_files::write(&unfinished.join("HEAD"), format!("{commit}\n"))?;
        private_files::write(&unfinished.join("commondir"), "../..\n")?;
        private_files::write(&unfinished.join("gitdir"), path_line("", &link))?;
        private_files::write(&link, path_line("gitdir: ", &metadata))?;
        fs::rename(&unfinished, &metadata)?;
        Ok(metadata)
    }

    /// Has the next user make another mirror. Steps that use this one continue to use it.
    pub(super) fn mark_damaged(&self) -> io::Result<()> {
        private_files::write(&self.0.join(DAMAGED), "")
    }

    /// Returns whether a fetch of the commit has ended. The commit alone is no proof: its files could be missing.
    pub(super) fn has_commit(&self, commit: &str) -> bool {
        let kept = fs::read_to_string(self.kept_commit(commit));
        kept.is_ok_and(|kept| kept.trim() == commit)
    }

    /// Records a use of a commit.
    pub(super) fn touch_commit(&self, commit: &str) {
        if let Ok(kept) = File::open(self.kept_commit(commit)) {
            touch(&kept);
        }
    }

    fn kept_commit(&self, commit: &str) -> PathBuf {
        self.fetch().join("refs/windlass").join(commit)
    }

    /// Removes what a killed fetch has left. The caller holds the lock of fetches, which a living fetch would hold too.
    pub(super) fn remove_stale_locks(&self) -> io::Result<()> {
        let mut left = vec![self.fetch().join("refs")];
        let mut found = entries(&self.fetch())?;
        while let Some(folder) = left.pop() {
            for entry in entries(&folder)? {
                if entry.is_dir() { left.push(entry) } else { found.push(entry) }
            }
        }
        let mut stale = found.iter().filter(|path| path.extension().is_some_and(|it| it == "lock"));
        stale.try_for_each(fs::remove_file)
    }

    /// Gives `shared.git` its original settings, and removes hooks, refs and worktrees that former steps have left. The
    /// caller holds the lock of the mirror alone, or has just made it.
    pub(super) fn reset(&self) -> io::Result<()> {
        let shared = self.shared();
        let format = fs::read_to_string(self.0.join("format"))?;
        let format = if format == "sha256" { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 };
        let extensions = "\tworktreeConfig = true\n\tpreciousObjects = true\n";
        rewrite(&shared.join("HEAD"), HEAD)?;
        rewrite(&shared.join("config"), &config(format, "logAllRefUpdates = false", extensions))?;
        rewrite(&shared.join("config.worktree"), "[core]\n\tbare = true\n")?;
        for entry in entries(&shared)? {
            let name = entry.file_name().unwrap_or_default();
            if !["HEAD", "config", "config.worktree", "objects", "worktrees"]
                .iter()
                .any(|it| name == *it)
            {
                remove_entry(&entry)?;
            }
        }
        private_files::create_folders(&shared.join("refs"))?;
        remove_tree(&self.trash())?;
        entries(&shared.join("worktrees"))?.iter().try_for_each(|entry| prune_worktree(entry))
    }

    /// Removes the refs of commits that were used least recently, if there are too many. The caller holds the lock alone.
    pub(super) fn forget_commits(&self) -> io::Result<()> {
        let mut refs = Vec::new();
        for path in entries(&self.fetch().join("refs/windlass"))? {
            refs.push((path.metadata()?.modified()?, path));
        }
        refs.sort_unstable();
        let excess = refs.len().saturating_sub(KEPT_COMMITS_MAX);
        refs.iter().take(excess).try_for_each(|(_, path)| fs::remove_file(path))
    }

    /// Returns whether the objects are in many packs.
    pub(super) fn has_many_packs(&self) -> io::Result<bool> {
        let packs = entries(&self.shared().join("objects/pack"))?;
        let packs = packs.iter().filter(|path| path.extension().is_some_and(|it| it == "pack"));
        Ok(packs.count() > PACKS_MAX)
    }
}

/// Removes damaged mirrors. The caller holds the lock alone.
pub(super) fn remove_damaged(root: &Path, trash: &Path) -> io::Result<()> {
    for (_, path) in numbered(root)? {
        if path.join(DAMAGED).exists() {
            move_to_trash(&path, trash)?.map_or(Ok(()), |moved| remove_tree(&moved))?;
        }
    }
    Ok(())
}

/// A line with a path, which need not be UTF-8.
fn path_line(before: &str, path: &Path) -> Vec<u8> {
    [before.as_bytes(), path.as_os_str().as_encoded_bytes(), b"\n"].concat()
}

const HEAD: &str = "ref: refs/heads/none\n";

fn config(format: ObjectFormat, core: &str, extensions: &str) -> String {
    format!(
        "[core]\n\trepositoryformatversion = 1\n\tfilemode = true\n\t{core}\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n\
         [extensions]\n\tobjectFormat = {}\n{extensions}",
        format.name()
    )
}

impl ObjectFormat {
    const fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
        }
    }
}

/// Writes a file unless it has this content.
fn rewrite(file: &Path, content: &str) -> io::Result<()> {
    if fs::read(file).is_ok_and(|found| found == content.as_bytes()) {
        return Ok(());
    }
    // A step can have left a link or a folder there.
    remove_entry(file)?;
    let unfinished = file.with_extension(random::random_hex());
    private_files::write(&unfinished, content)?;
    fs::rename(&unfinished, file)
}

fn remove_entry(entry: &Path) -> io::Result<()> {
    match entry.symlink_metadata() {
        Ok(found) if found.is_dir() => remove_tree(entry),
        Ok(_) => fs::remove_file(entry),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes the part of a worktree that is in the mirror, if the folder of the attempt is not there any more.
fn prune_worktree(entry: &Path) -> io::Result<()> {
    let link = fs::read(entry.join("gitdir")).unwrap_or_default();
    let link = Path::new(OsStr::from_bytes(link.trim_ascii_end()));
    let there = !link.as_os_str().is_empty() && link.exists();
    if there { Ok(()) } else { remove_entry(entry) }
}

/// Returns the mirrors of a repository with their numbers.
fn numbered(root: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let number = |path: PathBuf| {
        let number = path.file_name().and_then(|name| name.to_str()?.parse().ok())?;
        Some((number, path))
    };
    Ok(entries(root)?.into_iter().filter_map(number).collect())
}
