//! A disk that can be filled, to test backends on a real full disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The counter that makes the folders of one process distinct.
static DISKS: AtomicU32 = AtomicU32::new(0);

/// A file system of a given size, unmounted when this is dropped.
#[derive(Debug)]
pub struct TestDisk(PathBuf);

impl TestDisk {
    /// Mounts the disk. Prints the reason and returns `None` if the test may not mount.
    #[expect(clippy::print_stdout, reason = "a test that was skipped says so")]
    pub fn mount(size: &str) -> Option<Self> {
        let number = DISKS.fetch_add(1, Ordering::Relaxed);
        let name = format!("windlass-disk-{}-{number}", std::process::id());
        let disk = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(&disk.0).expect("a folder can be created");
        let mounted = disk.run("mount", &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]);
        if !mounted {
            println!("skipped: only root can mount a small disk to fill");
        }
        mounted.then_some(disk)
    }

    /// Returns the folder of the disk.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes until the disk is full.
    pub fn fill(&self) {
        let ballast = vec![7_u8; 64 << 20];
        fs::write(self.0.join("ballast"), ballast).expect_err("it is smaller");
    }

    /// Removes the file that filled the disk.
    pub fn make_room(&self) {
        fs::remove_file(self.0.join("ballast")).expect("it was filled");
    }

    /// Remounts the disk read-only. Returns whether that was possible.
    pub fn make_read_only(&self) -> bool {
        self.run("mount", &["-o", "remount,ro"])
    }

    fn run(&self, program: &str, arguments: &[&str]) -> bool {
        let ran = Command::new(program).args(arguments).arg(&self.0).output();
        ran.is_ok_and(|output| output.status.success())
    }
}

impl Drop for TestDisk {
    fn drop(&mut self) {
        self.run("umount", &["--lazy"]);
        drop(fs::remove_dir(&self.0));
    }
}
