//! A run with a past, to damage and to go back in.

use super::{Sandbox, Tree, quick};

/// A run with three records, and the files as they were after each of them.
pub struct Past {
    /// Where it is.
    pub sandbox: Sandbox,
    /// Its id.
    pub run: String,
    /// Its files after so many records.
    pub trees: Vec<Tree>,
}

/// The phases of the three records.
pub const PHASES: [&str; 3] = ["preflight", "explore", "plan"];

impl Past {
    /// Starts the run and records three times.
    pub fn new() -> Self {
        let sandbox = Sandbox::within(&quick());
        let clock = sandbox.now();
        sandbox.flow(["init", "--schemas"]).ok();
        sandbox.put_clock(clock);
        let run = sandbox.start("start-issue");
        let mut trees = vec![Tree::of(&sandbox.run_dir(&run))];
        for phase in PHASES {
            sandbox.record(&run, phase, &format!("{phase}-done"));
            trees.push(Tree::of(&sandbox.run_dir(&run)));
        }
        Self { sandbox, run, trees }
    }

    /// Writes a file of the run, behind flow's back.
    pub fn put(&self, file: &str, bytes: impl AsRef<[u8]>) {
        let path = self.sandbox.run_dir(&self.run).join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// Puts back a file as it was after so many records.
    pub fn put_back(&self, file: &str, records: usize) {
        self.put(file, self.trees[records].text(file));
    }

    /// Removes a file of the run.
    pub fn remove(&self, file: &str) {
        std::fs::remove_file(self.sandbox.run_dir(&self.run).join(file)).unwrap();
    }

    /// A file of the run.
    pub fn read(&self, file: &str) -> String {
        self.sandbox.read(&self.run, file)
    }

    /// The ids that `resume` calls completed.
    #[track_caller]
    pub fn completed(&self) -> Vec<String> {
        let answer = self.sandbox.inside(["resume", &self.run, "--json"]).ok().json();
        let done = answer["completed"].as_array().unwrap().iter();
        done.map(|done| done["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Records in `code`, the phase that comes next.
    #[track_caller]
    pub fn go_on(&self) -> serde_json::Value {
        let args = ["record-activity", "--run-id", &self.run, "--phase", "code", "--id", "code-done", "--json"];
        self.sandbox.inside(args).ok().json()
    }

    /// All three records and the one of [`Self::go_on`] are there, and all promises are kept.
    #[track_caller]
    pub fn assert_all_there(&self) {
        self.sandbox.assert_sound(&self.run);
        assert_eq!(self.completed(), ["preflight-done", "explore-done", "plan-done", "code-done"]);
    }
}
