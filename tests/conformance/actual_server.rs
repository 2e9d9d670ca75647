//! Runs in the bucket of a real server, SeaweedFS, where its program `weed` is. The test waits most of its time, so its name is the
//! first one: tests begin in the order of their names.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use flowrun::codec::LogScan;
use flowrun::model::Seq;
use flowrun::store::RefreshScope;
use flowrun::store::shared::Carrier;
use tempfile::TempDir;

use crate::bucket::{BUCKET, ID, SECRET, carrier_with, variables_of};
use crate::chaos::{Hub, nothing_is_lost_and_nothing_is_repeated};
use crate::shared::{RUN, ask, begin_for_one_issue, probed, record, run_id, start_as};
use crate::support::storm::Dice;
use crate::support::{Lack, skipped};
use crate::tested_store::{Machine, Place, TestedStore as _};

const WAIT: Duration = Duration::from_secs(60);

/// A server of its own. It ends with its last clone.
#[derive(Clone)]
struct Weed {
    server: Arc<Server>,
}

struct Server {
    child: Mutex<Child>,
    /// Those of its services, and their second ones.
    addresses: Vec<SocketAddr>,
    dir: TempDir,
    disturbed: AtomicUsize,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Server {
    fn kill(&self) {
        let mut child = self.child.lock().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Starts the program on the files of `dir`.
fn started(dir: &Path, addresses: &[SocketAddr]) -> Option<Child> {
    let mut command = Command::new("weed");
    command.args(["server", "-dir=.", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"]);
    command.args(["-s3.config=s3.json", "-volume.max=2", "-master.volumeSizeLimitMB=64"]);
    // Two more services, each with a port of its own that may be in use.
    command.args(["-s3.port.iceberg=0", "-s3.port.lance=0"]);
    for (nth, service) in ["master", "volume", "filer", "s3"].into_iter().enumerate() {
        command.arg(format!("-{service}.port={}", addresses[2 * nth].port()));
        command.arg(format!("-{service}.port.grpc={}", addresses[2 * nth + 1].port()));
    }
    command.current_dir(dir).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
}

impl Weed {
    /// Starts a server; `None` where there is no such program.
    fn start() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let identity = format!(
            r#"{{"identities":[{{"name":"flow","credentials":[{{"accessKey":"{ID}","secretKey":"{SECRET}"}}],"actions":["Admin","Read","Write","List"]}}]}}"#
        );
        fs::write(dir.path().join("s3.json"), identity).unwrap();
        // Taken all at once, so that they differ.
        let listeners: Vec<_> = (0..8).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let addresses: Vec<_> = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
        drop(listeners);
        let child = started(dir.path(), &addresses)?;
        let weed = Self {
            server: Arc::new(Server { child: Mutex::new(child), addresses, dir, disturbed: AtomicUsize::new(0) }),
        };
        weed.make_bucket();
        Some(weed)
    }

    /// Kills the server, and starts another one on the same files.
    fn restart(&self) {
        self.server.kill();
        *self.server.child.lock().unwrap() = started(self.server.dir.path(), &self.server.addresses).unwrap();
    }

    fn variables(&self) -> [(&'static str, String); 4] {
        variables_of(self.server.addresses[6])
    }

    /// Makes the bucket, and waits until it can be used.
    fn make_bucket(&self) {
        let begin = Instant::now();
        let is_made = || {
            let mut filer = TcpStream::connect(self.server.addresses[4]).ok()?;
            let head = "POST /buckets/runs/ HTTP/1.0\r\ncontent-length: 0\r\n\r\n";
            assert_eq!(BUCKET, "runs");
            filer.write_all(head.as_bytes()).ok()?;
            let mut answer = String::new();
            filer.read_to_string(&mut answer).ok()?;
            let carrier = self.carrier(Path::new(""));
            carrier.tips(RefreshScope::All, Duration::from_secs(2)).ok()
        };
        while is_made().is_none() {
            assert!(begin.elapsed() < WAIT, "the server does not begin");
            thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Place for Weed {
    fn carrier(&self, _: &Path) -> Box<dyn Carrier> {
        Box::new(carrier_with(self.variables()))
    }
}

impl Hub for Weed {
    fn address(&self) -> String {
        format!("s3://{BUCKET}/chaos")
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        self.variables().to_vec()
    }

    fn disturb(&self, _: &mut Dice) {
        // It takes many seconds to begin, so it dies once only.
        if self.server.disturbed.fetch_add(1, Ordering::Relaxed) == 10 {
            self.restart();
            self.make_bucket();
        }
    }
}

#[test]
fn a_real_server_keeps_its_promises_and_all_records_even_when_it_is_killed_among_them() {
    let Some(weed) = Weed::start() else {
        return skipped("conformance: a real object store", &Lack::of("weed", "there is no program weed (SeaweedFS)"));
    };
    probed(&*weed.carrier(Path::new(""))).unwrap();
    let machines: Vec<_> = (0..3).map(|_| Machine::with(weed.clone())).collect();
    start_as(&machines[0].context(), RUN, None).unwrap();
    thread::scope(|scope| {
        for (nth, machine) in machines.iter().enumerate() {
            scope.spawn(move || {
                ask(machine);
                for work in 0..3 {
                    record(&machine.context(), &format!("work-{nth}-{work}")).unwrap();
                }
            });
        }
    });
    let lines = weed.carrier(Path::new("")).lines(&run_id(), Seq(1), None, WAIT).unwrap().unwrap();
    let log = LogScan::parse(lines.as_bytes());
    assert_eq!((log.gaps(), log.doubles(), log.skipped.len()), (vec![], vec![], 0));
    assert_eq!(log.events().flat_map(|event| event.kind.records()).count(), 9);
    begin_for_one_issue(&weed);
    nothing_is_lost_and_nothing_is_repeated(&weed, 2, 2, 4);
    assert!(weed.server.disturbed.load(Ordering::Relaxed) > 10, "it was never killed");
}
