//! A host's settings file: flow's hooks come in and go out again, and every other byte stays; or the file is refused.

use std::path::{Path, PathBuf};

use flowrun::hooks::settings::{
    ChangeOutcome, HooksChangeReport, HooksInstallRequest, HooksUninstallRequest, HostChoice, install, uninstall,
};
use flowrun::host::{AgentHost, Clock, Env, Git, Ids};
use flowrun::runs::{Context, Options};

/// The first byte chooses the host and what is installed, the rest is the file.
pub fn holds(bytes: &[u8]) {
    let Some((&choice, text)) = bytes.split_first() else { return };
    let home = tempfile::tempdir().expect("a temporary directory");
    let env = Env { home: Some(home.path().to_owned()), cwd: Some(home.path().to_owned()), ..Env::default() };
    let cx = Context::new(Clock::real(), Ids::random(), env, Git::default(), Options::default());
    let host = AgentHost::ALL[usize::from(choice & 0x1f) % AgentHost::ALL.len()];
    let wanted = HooksInstallRequest {
        host: HostChoice::One(host),
        continues: choice & 0x80 != 0,
        status_line: choice & 0x40 != 0,
        ..HooksInstallRequest::default()
    };
    let file = file_of(&cx, &wanted);
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
    std::fs::write(&file, text).expect("a file");

    if install(&cx, &wanted).is_err() {
        assert_eq!(content(&file), Some(text.to_vec()), "a refused file was changed");
        return;
    }
    let installed = content(&file);
    assert_eq!(outcome(&install(&cx, &wanted).expect("what flow wrote is refused")), ChangeOutcome::Unchanged);
    assert_eq!(content(&file), installed);

    let out = HooksUninstallRequest { host: HostChoice::One(host), ..HooksUninstallRequest::default() };
    uninstall(&cx, &out).expect("what flow wrote is refused");
    // A file that called flow already loses that as well.
    if !String::from_utf8_lossy(text).contains("flow") {
        assert_eq!(content(&file), Some(text.to_vec()), "{host:?}: {:?}", installed.map(String::from_utf8));
    }
    let left = content(&file);
    assert_eq!(outcome(&uninstall(&cx, &out).expect("what flow left is refused")), ChangeOutcome::Unchanged);
    assert_eq!(content(&file), left);
}

/// Where the host has the file.
fn file_of(cx: &Context, wanted: &HooksInstallRequest) -> PathBuf {
    let plan = HooksInstallRequest { dry_run: true, ..wanted.clone() };
    install(cx, &plan).expect("a plan").files[0].path.clone()
}

fn content(file: &Path) -> Option<Vec<u8>> {
    std::fs::read(file).ok()
}

fn outcome(report: &HooksChangeReport) -> ChangeOutcome {
    report.files[0].outcome
}
