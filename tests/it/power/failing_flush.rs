//! A flush that fails for real: an ext4 whose device has no room left, and gets it back.
//!
//! After such a failure the kernel calls the pages clean. A second flush of the same bytes succeeds, and they are lost
//! all the same. Only bytes written anew, to fresh blocks, can be flushed with certainty.

use std::io::Write;

use super::commands::LONG_ONE;
use super::real_cut::Device;
use super::recorded::{How, Recorded};
use crate::support::Answer;
use crate::support::mount::{FileSystem, Image, Memory};

/// An ext4 on a device that can be filled up. The order of fields is the order in which they go.
pub struct ThinDevice {
    /// The file system, with a project in which a long record is about to be made.
    pub device: Device,
    memory: Memory,
}

impl ThinDevice {
    /// A new one, with room.
    ///
    /// # Errors
    /// Why this machine cannot.
    pub fn new() -> Result<Self, String> {
        let memory = Memory::new("size=24m")?;
        let home = tempfile::tempdir_in(memory.path()).map_err(|error| error.to_string())?;
        let options = ["-b", "4096", "-E", "nodiscard", "-J", "size=4"];
        let image = Image::within(home, FileSystem::Ext4, 400, &options)?;
        let device = Device::new(image, &LONG_ONE, Recorded::of(&LONG_ONE, How::USUAL));
        device.restore();
        Ok(Self { device, memory })
    }

    /// Takes all room away: from now on no new block reaches the device.
    pub fn fill(&self) {
        let mut file = std::fs::File::create(self.memory.path().join("fill")).unwrap();
        let zeros = [0; 4096];
        while file.write_all(&zeros).is_ok() {}
    }

    /// Gives the room back.
    pub fn drain(&self) {
        std::fs::remove_file(self.memory.path().join("fill")).unwrap();
    }

    /// Records, with strace's options.
    pub fn record(&self, strace: &[&str], canary: Option<&str>) -> Answer {
        let options: Vec<&str> = ["-o", "/dev/null"].iter().chain(strace).copied().collect();
        self.device.flow(&options, canary)
    }

    /// The record while there is no room, the record again when there is, and a power cut. Gives the first answer and
    /// what is broken in the end.
    pub fn fail_and_repeat(&mut self, strace: &[&str], first: Option<&str>, second: Option<&str>) -> (Answer, Verdict) {
        self.fill();
        let refused = self.record(strace, first);
        self.drain();
        let repeated = self.record(&[], second);
        let acknowledged = refused.code == Some(0) || repeated.code == Some(0);
        (refused, self.device.cut_and_look(acknowledged, true))
    }
}

/// The first promise that is broken.
pub type Verdict = Result<(), String>;
