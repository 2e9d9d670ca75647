//! A flush that fails for real: an ext4 whose device has no room left, and gets it back.
//!
//! After such a failure the kernel calls the pages clean. A second flush of the same bytes succeeds, and they are lost
//! all the same. Only bytes written anew, to fresh blocks, can be flushed with certainty.

use std::io::Write;

use super::commands::LONG_ONE;
use super::real_cut::Device;
use super::recorded::{How, Recorded};
use crate::support::faulty::Mistake;
use crate::support::mount::{FileSystem, Image, Memory, UNDISTURBED};
use crate::support::{Answer, Lack};

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
    pub fn new() -> Result<Self, Lack> {
        FileSystem::Ext4.can_lose_power()?;
        let memory = Memory::new("size=24m")?;
        let home = tempfile::tempdir_in(memory.path()).unwrap();
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

    /// Records.
    pub fn record(&self, recorder: Recorder) -> Answer {
        match recorder {
            Recorder::Program(strace) => self.device.flow(&[&["-o", "/dev/null"], strace].concat()),
            Recorder::Library(mistake) => self.device.flow_as_a_library(mistake),
        }
    }

    /// The record while there is no room, the record again when there is, and a power cut. Gives the first answer and
    /// what is broken in the end; `None` when neither was acknowledged.
    fn fail_and_repeat(&mut self, trial: &Trial) -> Option<(Answer, Verdict)> {
        self.fill();
        let refused = self.record(trial.first);
        self.drain();
        let repeated = self.record(trial.second);
        let acknowledged = refused.code == Some(0) || repeated.code == Some(0);
        acknowledged.then(|| (refused, self.device.cut_and_look(true, true)))
    }
}

/// Who records.
#[derive(Debug, Clone, Copy)]
pub enum Recorder {
    /// The program, with these options for the strace around it.
    Program(&'static [&'static str]),
    /// The library, on the real disk or one around it that makes a mistake.
    Library(Option<Mistake>),
}

/// Who records while flushes fail, and who does so again.
pub struct Trial {
    /// While there is no room.
    pub first: Recorder,
    /// When there is room again.
    pub second: Recorder,
}

impl Trial {
    /// A trial in which a record was acknowledged: the first answer, and what is broken in the end.
    ///
    /// When somebody calls `sync` while there is no room, or the kernel's timer comes to it, the file system's journal
    /// fails, and it refuses every later write: nothing is promised then, so nothing can be broken.
    pub fn acknowledged(&self, mut thin: ThinDevice) -> (Answer, Verdict) {
        for _ in 0..UNDISTURBED {
            if let Some(found) = thin.fail_and_repeat(self) {
                return found;
            }
            thin = ThinDevice::new().unwrap();
        }
        panic!("the journal of the file system failed {UNDISTURBED} times");
    }
}

/// The first promise that is broken.
pub type Verdict = Result<(), String>;
