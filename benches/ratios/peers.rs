//! What other programs take for one durable step, each as a process of its own. What each promises is in its row.

use std::path::Path;
use std::process::{Command, Stdio};

use super::project::{Floor, Project};
use super::table::{Bound, Row, Table};
use super::timing::{Timed, alternate};

/// The rows of those that are here. Servers are asked that variables name: `FLOW_BENCH_REDIS` (the path of a socket of a server
/// with `appendfsync always`), `PGHOST`, `ETCDCTL_ENDPOINTS`.
pub fn rows(home: &Path, floor: &Floor, rounds: usize, table: &mut Table) {
    let ours = Project::with_activities(home, 10);
    let dir = tempfile::tempdir_in(home).unwrap().keep();
    let mut timed = vec![Timed::new("floor", || floor.append()), Timed::new("flow", || ours.record())];
    let mut names = vec!["`flow record-activity`: survives a power cut".to_owned()];
    for (program, promise, first, step) in peers(&dir) {
        match first.map(ran) {
            Some(Err(why)) => println!("SKIPPED: {program}: {why}"),
            Some(Ok(())) => {
                names.push(format!("{program}: {promise}"));
                timed.push(Timed::new("peer", step));
            }
            None => println!("SKIPPED: {program}: no variable names its server"),
        }
    }
    let medians = alternate(&mut timed, rounds / 4);
    for (name, &median) in names.iter().zip(&medians[1..]) {
        table.push(Row::new(name, median, Some(("the floor", medians[0], Bound::None))));
    }
}

/// A program, what it promises, what is run once before it is timed, and one step.
type Peer = (&'static str, &'static str, Option<Command>, Box<dyn FnMut() -> Command>);

fn peers(dir: &Path) -> Vec<Peer> {
    let database = dir.join("steps.db");
    let insert = ["PRAGMA synchronous=FULL;", "INSERT INTO steps VALUES ('what came out of it');"].concat();
    let sqlite = move |sql: &str| command("sqlite3", &[database.to_str().unwrap(), sql]);
    let made = sqlite("PRAGMA journal_mode=WAL; CREATE TABLE steps (text TEXT);");
    let repository = dir.to_str().unwrap().to_owned();
    let git = move |setting: &'static str| {
        let (name, mail) = ("user.name=Ada", "user.email=ada@example.org");
        let settings = ["-C", &repository, "-c", name, "-c", mail, "-c", "gc.auto=0", "-c", setting];
        command("git", &[&settings[..], &["commit", "-q", "--allow-empty", "-m", "step"]].concat())
    };
    let flushing = git.clone();
    let init = command("git", &["init", "-q", dir.to_str().unwrap()]);
    let (redis, postgres) = (std::env::var("FLOW_BENCH_REDIS").ok(), std::env::var("PGHOST").ok());
    let etcd = std::env::var("ETCDCTL_ENDPOINTS").ok();
    let socket = redis.clone().unwrap_or_default();
    let set = move || command("redis-cli", &["-s", &socket, "SET", "step", "what came out of it"]);
    let table = "CREATE TABLE IF NOT EXISTS flow_steps (text TEXT)";
    let psql = |sql: &str| command("psql", &["-qc", sql]);
    let put = || command("etcdctl", &["put", "step", "what came out of it"]);
    vec![
        ("`sqlite3`, one insert, WAL", "survives a power cut", Some(made), Box::new(move || sqlite(&insert))),
        (
            "`git commit` with its defaults",
            "a power cut may take it",
            Some(init),
            Box::new(move || git("core.fsync=default")),
        ),
        (
            "`git commit` with `core.fsync=all`",
            "survives a power cut",
            Some(command("git", &["--version"])),
            Box::new(move || flushing("core.fsync=all")),
        ),
        (
            "`redis-cli` and a server with `appendfsync always`",
            "survives a power cut",
            redis.map(|_| set()),
            Box::new(set),
        ),
        (
            "`psql`, one insert, and its server",
            "survives a power cut",
            postgres.map(|_| psql(table)),
            Box::new(move || psql("INSERT INTO flow_steps VALUES ('what came out of it')")),
        ),
        ("`etcdctl put` and its server", "survives a power cut", etcd.map(|_| put()), Box::new(put)),
    ]
}

fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    command
}

fn ran(mut command: Command) -> Result<(), String> {
    match command.stdout(Stdio::null()).stderr(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(error.to_string()),
    }
}
