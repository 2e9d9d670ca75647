//! What a program asked of the kernel, as strace saw it.

use std::process::Command;

use crate::support::faulty::Mistake;
use crate::support::{Answer, run};

/// Calls that change a file system or say which file a descriptor is. A leading `?` lets strace pass over those that
/// this machine's kernel does not have.
const TRACED: &str = "?open,openat,?openat2,?creat,read,write,pwrite64,?writev,?pwritev,?pwritev2,lseek,close,?dup,?dup2,\
    dup3,fchdir,chdir,fsync,fdatasync,sync,syncfs,?rename,?renameat,renameat2,?unlink,unlinkat,?rmdir,?mkdir,mkdirat,\
    ftruncate,truncate,?link,linkat,?symlink,symlinkat,?mknod,mknodat,copy_file_range,?sendfile,splice,fallocate,mmap";

/// One call of the program's main thread that succeeded.
#[derive(Debug, Clone)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// Its arguments as strace shows them, strings in hexadecimal.
    pub args: Vec<String>,
    /// Its strings, as bytes, in order.
    pub strings: Vec<Vec<u8>>,
    /// What it gave back.
    pub result: i64,
}

impl Call {
    /// An argument that is a number, such as a descriptor.
    pub fn number(&self, at: usize) -> Option<i64> {
        self.args.get(at)?.parse().ok()
    }

    /// A string that is a path.
    pub fn path(&self, at: usize) -> &str {
        std::str::from_utf8(&self.strings[at]).expect("a path that is not UTF-8")
    }

    /// Whether one of the arguments mentions a flag.
    pub fn has(&self, flag: &str) -> bool {
        self.args.iter().any(|arg| arg.split('|').any(|part| part == flag))
    }
}

/// Runs `command`, which must be strace's: its arguments up to the program's. Gives the answer and the calls.
///
/// Only the main thread is followed. Whoever uses the calls compares what they explain with the files that are there.
pub fn traced(mut strace: Command, program: &[&str], stdin: &str) -> (Answer, Vec<Call>) {
    let file = tempfile::NamedTempFile::new().unwrap();
    strace.args(["-qq", "-xx", "-s", "4194304", "-e", "signal=none", "-e"]).arg(format!("trace={TRACED}"));
    strace.arg("-o").arg(file.path()).arg("--").args(program);
    let answer = run(strace, stdin);
    let text = std::fs::read_to_string(file.path()).unwrap();
    (answer, text.lines().filter_map(parse).collect())
}

/// What a disk with this mistake would have done with these calls.
pub fn mistaken(mut calls: Vec<Call>, mistake: Mistake) -> Vec<Call> {
    let late: &[&str] = match mistake {
        Mistake::NoFlush => {
            calls.retain(|call| !["fsync", "fdatasync"].contains(&call.name.as_str()));
            return calls;
        }
        Mistake::LateAppend => &["write", "fdatasync"],
        Mistake::LateFlush => &["fdatasync"],
        _ => panic!("no trace tells of {mistake:?}"),
    };
    // Nothing else is flushed so, and the line is written just before.
    let flush = calls.iter().position(|call| call.name == "fdatasync").expect("no line was flushed");
    let is_new_run = |call: &Call| call.name == "renameat2" && call.strings.contains(&b"run.yaml".to_vec());
    let shown = calls.iter().position(is_new_run).expect("no run.yaml was put into place");
    assert!(shown > flush, "the line comes too late");
    let first = flush + 1 - late.len();
    assert!(calls[first..=flush].iter().map(|call| call.name.as_str()).eq(late.iter().copied()));
    calls[first..=shown].rotate_left(late.len());
    calls
}

/// One line of a trace; `None` for a call that failed or never came back, and for what is no call.
fn parse(line: &str) -> Option<Call> {
    let (call, result) = line.rsplit_once(" = ")?;
    let result = result.split([' ', '(']).next()?;
    let result = match result.strip_prefix("0x") {
        Some(address) => i64::from_str_radix(address, 16).unwrap_or(i64::MAX),
        None => result.parse().ok()?,
    };
    let (name, args) = call.trim_end().strip_suffix(')')?.split_once('(')?;
    if result < 0 {
        return None;
    }
    let args: Vec<String> = args.split(", ").map(str::to_owned).collect();
    let strings = args.iter().filter_map(|arg| unhex(arg)).collect();
    Some(Call { name: name.to_owned(), args, strings, result })
}

/// `"\x41\x42"` as bytes; `None` when it is no string. A string that strace cut off would be misunderstood.
fn unhex(arg: &str) -> Option<Vec<u8>> {
    let quoted = arg.trim().strip_prefix('"')?;
    let hex = quoted.strip_suffix('"').unwrap_or_else(|| panic!("strace cut a string off: {:.80}", arg));
    let bytes = hex.split("\\x").skip(1);
    Some(bytes.map(|byte| u8::from_str_radix(byte, 16).unwrap_or_else(|_| panic!("{byte:?} is no byte"))).collect())
}

#[test]
fn a_line_of_a_trace_is_read_as_it_is() {
    let call = parse(r#"pwrite64(3, "\x7b\x22\x0a", 3, 512) = 3"#).unwrap();
    assert_eq!((call.name.as_str(), call.result), ("pwrite64", 3));
    assert_eq!(call.strings, [b"{\"\n".to_vec()]);
    assert_eq!((call.number(0), call.number(3)), (Some(3), Some(512)));
    let call = parse(r#"openat(AT_FDCWD, "\x2f", O_RDWR|O_CREAT, 0666) = 4"#).unwrap();
    assert!(call.has("O_CREAT") && !call.has("O_RD") && call.number(0).is_none());
    assert!(parse(r#"unlinkat(5, "\x61", 0) = -1 ENOENT (No such file or directory)"#).is_none());
    assert!(parse("exit_group(0) = ?").is_none());
}
