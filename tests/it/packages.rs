//! Packages depend on the binary alone, not on the machine or the moment.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::support::{Lack, skipped};

/// Makes packages from a small file in the place of the binary, in a directory of its own.
fn packages(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let (beside, out) = (dir.join("beside"), dir.join("out"));
    for folder in ["beside/man", "beside/completions", "out"] {
        fs::create_dir_all(dir.join(folder)).unwrap();
    }
    fs::write(dir.join("flow"), "a binary").unwrap();
    fs::write(beside.join("man/flow.1"), "a page").unwrap();
    for shell in ["bash", "zsh", "fish"] {
        fs::write(beside.join(format!("completions/flow.{shell}")), shell).unwrap();
    }
    let mut python = Command::new("python3");
    python.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/packages.py"));
    python.arg("--binary").arg(dir.join("flow")).arg("--beside").arg(beside).arg("--out").arg(&out);
    python.args(["--target", "x86_64-unknown-linux-gnu"]).env("SOURCE_DATE_EPOCH", "1779287400");
    let made = python.output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let files = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path());
    files.map(|file| (file.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(file).unwrap())).collect()
}

#[test]
fn the_same_binary_makes_the_same_packages() {
    for tool in ["python3", "dpkg-deb"] {
        if Command::new(tool).arg("--version").output().is_err() {
            return skipped("the packages", &Lack::of(tool, format!("there is no {tool}")));
        }
    }
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = packages(one.path());
    let version = env!("CARGO_PKG_VERSION");
    let names = [
        format!("flow-{version}-x86_64-unknown-linux-gnu.tar.gz"),
        format!("flowrun-{version}-py3-none-manylinux_2_5_x86_64.manylinux1_x86_64.musllinux_1_1_x86_64.whl"),
        format!("flowrun-{version}.tgz"),
        format!("flowrun-linux-x64-{version}.tgz"),
        format!("flowrun_{version}_amd64.deb"),
    ];
    assert_eq!(first.keys().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
    // Archives know no shorter time.
    thread::sleep(Duration::from_secs(2));
    assert_eq!(packages(other.path()), first);
}
