//! A document outside of `.flow` has no log: every kill, failing call and power cut while it is replaced.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use flowrun::disk::{Disk, DocumentError, DocumentPlace, Errno, Guard, edit_document};

use super::cut::{Dice, Order, every_leftover, leftovers_now};
use super::disk::{HERE, SimDisk, Trouble};
use super::image::Image;
use crate::support::faulty::{FaultyDisk, Mistake};

const DOCUMENT: &str = "docs/notes.md";
/// So many choices a moment are tried.
const CHOICES: usize = 1 << 9;

/// What is tried: who keeps others away, and what the document says before and afterwards; none if it does not exist.
#[derive(Debug, Clone, Copy)]
struct Case {
    guard: Guard,
    old: Option<&'static str>,
    new: Option<&'static str>,
}

const CASES: [Case; 6] = [
    Case { guard: Guard::Directory, old: Some("old"), new: Some("new") },
    Case { guard: Guard::Directory, old: None, new: Some("new") },
    Case { guard: Guard::Directory, old: Some("old"), new: None },
    Case { guard: Guard::LockFile, old: Some("old"), new: Some("new") },
    Case { guard: Guard::LockFile, old: None, new: Some("new") },
    Case { guard: Guard::LockFile, old: Some("old"), new: None },
];

impl Case {
    /// A disk with the old document, all of it on stable storage.
    fn begun(self) -> SimDisk {
        let disk = SimDisk::holding(Image::new());
        if let Some(old) = self.old {
            self.put(&disk, Some(old)).unwrap();
        }
        SimDisk::holding(disk.live())
    }

    fn put(self, disk: &dyn Disk, text: Option<&str>) -> Result<(), DocumentError<Infallible>> {
        let place = DocumentPlace {
            absence: &(),
            disk,
            root: Path::new(HERE),
            relative: Path::new(DOCUMENT),
            limit: 10_000,
            guard: self.guard,
            wait: Duration::ZERO,
            copy_of: None,
            digest: flowrun::codec::digest,
        };
        edit_document(&place, &mut |_| Ok(text.map(str::to_owned)))
    }

    /// The document is the old one or the new one, and the next writer leaves nothing else.
    fn check(self, image: &Image, told: bool) -> Result<(), String> {
        let found = image.bytes(DOCUMENT).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let is_old = found.as_deref() == self.old;
        if told && is_old {
            return Err(format!("acknowledged, but lost: {found:?}"));
        }
        if !is_old && found.as_deref() != self.new {
            return Err(format!("neither old nor new: {found:?}"));
        }
        let disk = SimDisk::holding(image.clone());
        self.put(&disk, Some("next")).map_err(|error| format!("the next writer: {error}"))?;
        // A power cut forgets the rights by which a lock is known as flow's.
        let lock = Path::new("docs/notes.md.lock");
        let others = |path: &&Path| *path != Path::new("docs") && *path != Path::new(DOCUMENT) && *path != lock;
        let tree = disk.live().tree();
        match tree.keys().map(AsRef::as_ref).find(others) {
            Some(other) => Err(format!("{} was left behind", other.display())),
            None => Ok(()),
        }
    }

    /// What is wrong after power cuts at any moment on a disk that makes `mistake`.
    fn cut(self, mistake: Option<Mistake>, order: Order) -> Vec<String> {
        let disk = self.begun();
        match mistake {
            Some(mistake) => self.put(&FaultyDisk::new(Arc::new(disk.clone()), mistake), self.new).unwrap(),
            None => self.put(&disk, self.new).unwrap(),
        }
        disk.acknowledge();
        let (base, changes) = disk.history();
        let mut wrong = Vec::new();
        every_leftover(&base, &changes, order, CHOICES, &mut Dice(1), &mut |left| {
            wrong.extend(self.check(&left.image, left.acknowledged > 0).err());
        });
        wrong
    }
}

#[test]
fn a_document_survives_every_power_cut() {
    for case in CASES {
        for order in [Order::Killed, Order::Journal, Order::Any] {
            assert_eq!(case.cut(None, order), Vec::<String>::new(), "{case:?} {order:?}");
        }
    }
}

#[test]
fn power_cuts_catch_a_disk_that_flushes_no_document() {
    for case in CASES {
        assert_ne!(case.cut(Some(Mistake::NoFlush), Order::Any), Vec::<String>::new(), "{case:?}");
    }
}

#[test]
fn a_call_that_fails_or_is_the_last_one_loses_no_document() {
    for case in CASES {
        let counted = case.begun();
        counted.plan(&[]);
        case.put(&counted, case.new).unwrap();
        for at in 1..=counted.calls().len() {
            for trouble in
                [Trouble::Failure { at, errno: Errno::IO }, Trouble::Death { at }, Trouble::ShortWrite { at }]
            {
                let disk = case.begun();
                disk.plan(&[trouble]);
                let told = case.put(&disk, case.new).is_ok() && !disk.died();
                disk.end_process();
                let (base, changes) = disk.history();
                case.check(&disk.live(), told).unwrap_or_else(|wrong| panic!("{case:?} {trouble:?}: {wrong}"));
                leftovers_now(&base, &changes, CHOICES, &mut |left| {
                    case.check(&left.image, told).unwrap_or_else(|wrong| panic!("{case:?} {trouble:?}: {wrong}"));
                });
            }
        }
    }
}
