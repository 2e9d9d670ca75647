//! The least that a durable record can cost: a process that appends one line to a file and flushes it.

use std::fs::OpenOptions;
use std::io::Write;

fn main() -> std::io::Result<()> {
    let path = std::env::args_os().nth(1).unwrap_or_default();
    let mut log = OpenOptions::new().append(true).create(true).open(path)?;
    let mut line = vec![b'x'; 699];
    line.push(b'\n');
    log.write_all(&line)?;
    log.sync_data()
}
