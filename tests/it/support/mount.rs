//! File systems of a test's own: an image in a file, mounted through a loop device, gone with its guard.
//!
//! Only root can do this. What stands in the way comes back as a sentence, so that a test can say why it was skipped.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::Lack;

/// How often a test tries that needs nobody to flush for a moment. Anybody on the machine may call `sync`, and the kernel
/// flushes by its own timer; with somebody who does so all the time, about every second try is undisturbed.
pub const UNDISTURBED: usize = 40;

/// A kind of file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
    /// btrfs.
    Btrfs,
}

impl FileSystem {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Ext4, Self::Xfs, Self::Btrfs];

    /// The name that `mkfs` and `mount` know it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
        }
    }

    /// The smallest image that its `mkfs` makes, in MiB, and a little more. Images are sparse.
    pub fn smallest(self) -> u64 {
        match self {
            Self::Ext4 => 16,
            Self::Xfs => 320,
            Self::Btrfs => 128,
        }
    }

    /// Whether [`Image::cut_power`] has all that it needs.
    pub fn can_lose_power(self) -> Result<(), Lack> {
        if !self.can_shut_down() {
            return Ok(());
        }
        done(Command::new("xfs_io").arg("-V"))
    }

    /// Whether [`Image::cut_power`] can stop it in the kernel. Of others the image is copied as it is at that moment.
    fn can_shut_down(self) -> bool {
        self != Self::Btrfs
    }
}

/// A file system in a file. Dropping it unmounts and removes everything.
#[derive(Debug)]
pub struct Image {
    kind: FileSystem,
    home: TempDir,
    mounted: bool,
}

impl Image {
    /// A new ext4 of so many MiB, mounted.
    pub fn ext4(mebibytes: u64) -> Result<Self, Lack> {
        Self::new(FileSystem::Ext4, mebibytes, &[])
    }

    /// A new XFS, mounted.
    pub fn xfs(mebibytes: u64) -> Result<Self, Lack> {
        Self::new(FileSystem::Xfs, mebibytes, &[])
    }

    /// A new btrfs, mounted.
    pub fn btrfs(mebibytes: u64) -> Result<Self, Lack> {
        Self::new(FileSystem::Btrfs, mebibytes, &[])
    }

    /// A new file system of at least so many MiB, mounted; `mkfs` gets further options.
    pub fn new(kind: FileSystem, mebibytes: u64, mkfs: &[&str]) -> Result<Self, Lack> {
        let home = tempfile::tempdir().map_err(|error| no_room(&error))?;
        Self::within(home, kind, mebibytes, mkfs)
    }

    /// As [`Self::new`], with the image in a directory of the caller's, for instance on another file system.
    pub fn within(home: TempDir, kind: FileSystem, mebibytes: u64, mkfs: &[&str]) -> Result<Self, Lack> {
        if !rustix::process::geteuid().is_root() {
            return Err(Lack::of_root("only root can mount"));
        }
        let mut image = Self { kind, home, mounted: false };
        let file = std::fs::File::create(image.file()).map_err(|error| no_room(&error))?;
        file.set_len(mebibytes.max(kind.smallest()) << 20).map_err(|error| no_room(&error))?;
        std::fs::create_dir(image.path()).map_err(|error| no_room(&error))?;
        let mut make = Command::new(format!("mkfs.{}", kind.name()));
        done(make.arg("-q").args(mkfs).arg(image.file()))?;
        image.mount("")?;
        Ok(image)
    }

    /// What kind of file system it is.
    pub fn kind(&self) -> FileSystem {
        self.kind
    }

    /// Where its files are while it is mounted.
    pub fn path(&self) -> PathBuf {
        self.home.path().join("mounted")
    }

    /// The file that holds it.
    pub fn file(&self) -> PathBuf {
        self.home.path().join("image")
    }

    /// Mounts it, with further options, `ro` for instance. After a power cut this replays its journal.
    pub fn mount(&mut self, options: &str) -> Result<(), Lack> {
        assert!(!self.mounted, "mounted twice");
        let options = if options.is_empty() { "loop".to_owned() } else { format!("loop,{options}") };
        let mut mount = Command::new("mount");
        done(mount.args(["-t", self.kind.name(), "-o", &options]).arg(self.file()).arg(self.path()))?;
        self.mounted = true;
        Ok(())
    }

    /// Unmounts it. What was written is on the image then.
    pub fn unmount(&mut self) -> Result<(), Lack> {
        assert!(self.mounted, "not mounted");
        unless_busy(Command::new("umount").arg(self.path()))?;
        self.mounted = false;
        Ok(())
    }

    /// Stops it as a power cut does: what was not flushed is lost, and the next [`Self::mount`] finds the rest. Nothing
    /// of flow may be running in it.
    pub fn cut_power(&mut self) -> Result<(), Lack> {
        if self.kind.can_shut_down() {
            // FS_IOC_SHUTDOWN without writing the journal.
            done(Command::new("xfs_io").args(["-x", "-c", "shutdown"]).arg(self.path()))?;
            return self.unmount();
        }
        let at_that_moment = self.copy("cut")?;
        self.unmount()?;
        std::fs::rename(at_that_moment, self.file()).map_err(|error| no_room(&error))
    }

    /// A copy of the image as it is on its device now, beside it: what a power cut would leave.
    pub fn copy(&self, name: &str) -> Result<PathBuf, Lack> {
        let copy = self.home.path().join(name);
        done(Command::new("cp").arg("--sparse=always").arg(self.file()).arg(&copy))?;
        Ok(copy)
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        if self.mounted && self.unmount().is_err() {
            // A process that a failed test left behind: it keeps the mount, and nobody else sees it any more.
            let _ = done(Command::new("umount").arg("--lazy").arg(self.path()));
        }
    }
}

/// A tmpfs. Dropping it unmounts it.
#[derive(Debug)]
pub struct Memory(TempDir);

impl Memory {
    /// A new one with these options, `size=24k` for instance.
    pub fn new(options: &str) -> Result<Self, Lack> {
        if !rustix::process::geteuid().is_root() {
            return Err(Lack::of_root("only root can mount"));
        }
        let home = tempfile::tempdir().map_err(|error| no_room(&error))?;
        done(Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(home.path()))?;
        Ok(Self(home))
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Changes its options: `ro`, `rw`, `size=48k`.
    pub fn remount(&self, options: &str) -> Result<(), Lack> {
        unless_busy(Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(self.path()))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if unless_busy(Command::new("umount").arg(self.path())).is_err() {
            let _ = done(Command::new("umount").arg("--lazy").arg(self.path()));
        }
    }
}

/// As [`done`], again and again as long as files there are in use, but not for ever.
fn unless_busy(command: &mut Command) -> Result<(), Lack> {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match done(command) {
            // A process that another thread is just starting holds this one's open files until it runs its program.
            Err(error) if error.why.contains("busy") && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}

/// Runs a command; its complaint when it fails.
fn done(command: &mut Command) -> Result<(), Lack> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| Lack::of(&program, format!("{program}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or("it failed without a word");
    Err(Lack::of(&program, format!("{program}: {}", steady(said))))
}

/// A complaint without what is another in each test: the directory.
fn steady(said: &str) -> String {
    let words = said.split(' ').map(|word| if word.starts_with('/') { "…" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

fn no_room(error: &std::io::Error) -> Lack {
    Lack::of("room", format!("no room for an image: {error}"))
}
