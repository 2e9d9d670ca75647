//! The mounted images that other tests stand on do what they say: a flush survives a power cut, and nothing stays behind.

use std::fs::File;
use std::io::Write;

use crate::support::mount::{FileSystem, Image, UNDISTURBED};
use crate::support::skipped;

/// What is mounted now.
fn mounts() -> String {
    std::fs::read_to_string("/proc/self/mounts").unwrap_or_default()
}

#[test]
fn a_power_cut_keeps_what_was_flushed_and_loses_what_was_not() {
    for kind in FileSystem::ALL {
        let image = kind.can_lose_power().and_then(|()| Image::new(kind, 0, &[]));
        let mut image = match image {
            Ok(image) => image,
            Err(why) => {
                skipped("a_power_cut_keeps_what_was_flushed_and_loses_what_was_not", &why);
                continue;
            }
        };
        let at = image.path();
        let mut flushed = File::create(at.join("flushed")).unwrap();
        flushed.write_all(b"safe").unwrap();
        flushed.sync_all().unwrap();
        File::open(&at).unwrap().sync_all().unwrap();
        drop(flushed);
        let lost = (0..UNDISTURBED).any(|nth| {
            let name = format!("not-flushed-{nth}");
            std::fs::write(at.join(&name), "lost").unwrap();
            image.cut_power().unwrap();
            image.mount("").unwrap();
            assert_eq!(std::fs::read_to_string(at.join("flushed")).unwrap(), "safe", "{kind:?}");
            std::fs::read_to_string(at.join(name)).unwrap_or_default() != "lost"
        });
        assert!(lost, "{kind:?} loses nothing");
        drop(image);
        assert!(!mounts().contains(&at.display().to_string()), "{kind:?} is still mounted");
        assert!(!at.exists(), "{kind:?} was left behind");
    }
}

#[test]
fn an_image_is_unmounted_when_its_test_fails() {
    let mut at = None;
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let image = Image::ext4(0).map_err(|why| skipped("an_image_is_unmounted_when_its_test_fails", &why));
        let Ok(image) = image else { return };
        at = Some(image.path());
        std::panic::resume_unwind(Box::new("the test failed"));
    }));
    assert_eq!(failed.is_err(), at.is_some());
    let Some(at) = at else { return };
    assert!(!mounts().contains(&at.display().to_string()) && !at.exists());
}
