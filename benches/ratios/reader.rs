//! Opens and reads the `run.yaml` of every run: the least that a list of them can cost.

use std::fs::File;
use std::io::Read;

fn main() -> std::io::Result<()> {
    let runs = std::env::args_os().nth(1).unwrap_or_default();
    let mut bytes = Vec::new();
    for run in std::fs::read_dir(runs)? {
        bytes.clear();
        File::open(run?.path().join("run.yaml"))?.read_to_end(&mut bytes)?;
    }
    Ok(())
}
