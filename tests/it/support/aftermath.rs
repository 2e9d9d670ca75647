//! What must hold after any trouble, whatever the command answered.

use std::process::Stdio;

use serde_json::Value;

use super::hostile::error_object;
use super::inside::alone;
use super::scene::{DOCUMENT, Files, Retry, View};
use super::shaky::Shaky;
use super::trouble::{Sink, State};
use super::{Answer, Scene, whole};

impl Scene {
    /// Gives the command in this state, from the files as they were, and holds flow to its promises.
    ///
    /// # Panics
    /// When one is broken.
    #[track_caller]
    pub fn assert_survives(&self, state: &State) {
        self.restore();
        let answer = self.in_trouble(state);
        let done = self.assert_honest(state, &answer);
        if !self.is_new((done, state.kills, Self::goes_on_inside(state))) {
            return;
        }
        self.assert_old_or_new(state, done);
        self.assert_retry(state);
        for (args, code) in &self.order.then {
            self.sandbox.inside(args).exits(*code);
        }
        self.assert_at_rest(state);
    }

    /// Whether this process makes the trouble good: every day wherever it was, since what comes of a command is the same
    /// library's work; when all is to be tried, the real program does it where that was in trouble.
    fn goes_on_inside(state: &State) -> bool {
        state.inside.is_some() || !whole()
    }

    fn in_trouble(&self, state: &State) -> Answer {
        if let Some(ills) = &state.inside {
            return self.inside(&Shaky::new(alone(), ills));
        }
        let mut command = self.command(&state.prefix);
        command.stdin(Stdio::null()).stdout(state.sink.stdout()).stderr(Stdio::piped());
        let _disk = self.troubled(state.disk);
        let child = command.spawn().unwrap();
        // The command keeps its ends of the pipes, and this process must not.
        drop(command);
        let output = child.wait_with_output().unwrap();
        let code = output.status.code();
        Answer {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            // Its keeper of time ends as it did.
            code: code.filter(|&code| code != 128 + 9),
        }
    }

    /// The answer is one that a caller can act on. Gives whether it says that the work is done.
    #[track_caller]
    fn assert_honest(&self, state: &State, answer: &Answer) -> bool {
        // The whole beginning of the message: the random name of a directory may be `.tmpAUbBUG`.
        assert!(!answer.stderr.contains("panicked") && !answer.stderr.contains("BUG: "), "{answer:?}");
        assert_ne!(answer.code, Some(124), "it hangs");
        assert!(!state.kills || answer.code.is_none(), "it was not killed: {answer:?}");
        if answer.code.is_none() {
            assert!(state.kills, "ended by a signal: {answer:?}");
            return !answer.stdout.is_empty() && self.did_its_work(answer);
        }
        if state.sink != Sink::Test {
            return self.assert_undelivered(answer);
        }
        if answer.code == Some(0) && answer.stdout.contains("could not update run") {
            // The document is new, and the run is told by the next command.
            return false;
        }
        if self.did_its_work(answer) {
            let words = ["\"warnings\":[\"", "\"notes\":[\"", "\"why\":\""];
            let warned = words.iter().any(|word| answer.stdout.contains(word));
            assert!(!state.no_flush || warned, "a flush failed, and was acknowledged without a word: {answer:?}");
            return true;
        }
        if self.order.is_a_hook {
            assert_eq!(answer.code, Some(0), "a hook must not fail: {answer:?}");
            assert!(!answer.stdout.contains("\"warnings\":[]") || state.mute, "not a word about it: {answer:?}");
            return false;
        }
        if self.order.is_a_doctor && answer.code == Some(65) {
            let left = answer.stdout.contains("\"state\":\"left\"") || state.mute;
            assert!(left, "it says neither what is wrong nor what could not be read: {answer:?}");
            assert!(!answer.stdout.contains("lock_missing"), "it calls gone what it could not look at: {answer:?}");
            return false;
        }
        if self.order.is_a_prune && answer.code == Some(0) {
            return false;
        }
        if self.order.is_a_replay && answer.code == Some(1) && answer.stdout.contains("\"why_not\":\"") {
            return false;
        }
        assert_eq!(answer.code, Some(74), "{answer:?}");
        if !state.mute {
            let error = error_object(answer);
            let code = error["code"].as_str().unwrap_or_default();
            assert!(["io_error", "unconfirmed", "input_unreadable", "end_not_recorded"].contains(&code), "{answer:?}");
        }
        false
    }

    /// Nobody could read the answer: then the command fails and its work is done all the same.
    #[track_caller]
    fn assert_undelivered(&self, answer: &Answer) -> bool {
        let code = answer.code;
        if self.order.is_a_hook {
            assert_eq!(code, Some(0), "a hook must not fail: {answer:?}");
        } else {
            // Whoever closed standard output asked for no answer.
            assert!([Some(0), Some(74)].contains(&code), "{answer:?}");
        }
        true
    }

    /// Readers see the old state or the new one, of every run by itself, and `run.yaml` is never ahead of the log.
    #[track_caller]
    fn assert_old_or_new(&self, state: &State, done: bool) {
        for run in self.sandbox.runs() {
            let (shown, logged) = (self.sandbox.shown_seq(&run), self.whole_lines(&run));
            assert!(shown <= logged, "run.yaml of {run} shows event {shown}, and the log ends at {logged}");
        }
        self.assert_kept();
        let seen = self.view();
        let new = self.new.as_far_as_told(&seen);
        if done {
            assert_same(&seen, &new, "acknowledged, and not there");
            return;
        }
        // One that the command takes away may be gone already.
        for run in self.old.0.keys().filter(|run| new.0.contains_key(*run)) {
            assert!(seen.0.contains_key(run), "run {run} is gone");
        }
        for (run, view) in &seen.0 {
            if self.order.is_told_in_steps && run != DOCUMENT {
                continue;
            }
            let known = [&self.old, &new].map(|known| known.0.get(run).unwrap_or(&Value::Null));
            assert!(
                known.contains(&view),
                "{run} is neither old ({}) nor new ({})",
                difference(known[0], view),
                difference(known[1], view)
            );
        }
        let now = Files::of(&self.sandbox);
        let (old, new) = (self.before().journals(), self.undisturbed().journals());
        for (name, text) in now.journals() {
            assert!([old.get(&name), new.get(&name)].contains(&Some(&text)), "{} is torn: {text}", name.display());
        }
        // What came out of an exchange stays when it cannot be removed; the next writer does it.
        let strays: Vec<_> =
            now.strays().into_iter().filter(|file| file.extension().is_some_and(|end| end == "tmp")).collect();
        assert!(state.kills || strays.is_empty(), "left beside the journal: {strays:?}");
    }

    /// How many events a run's log holds; a dead writer may have left a part of one.
    fn whole_lines(&self, run: &str) -> u64 {
        let text = self.sandbox.read(run, "events.jsonl");
        let sealed = |line: &&str| serde_json::from_str::<Value>(line).is_ok_and(|event| event["crc"].is_string());
        text.lines().filter(sealed).count() as u64
    }

    #[track_caller]
    fn assert_kept(&self) {
        if let Some(kept) = self.order.keeps {
            assert!(self.sandbox.read("r1", "run.yaml").contains(kept), "{kept:?} is gone");
        }
    }

    /// The same command again does its work exactly once.
    #[track_caller]
    fn assert_retry(&self, state: &State) {
        let before = self.sandbox.runs();
        let there = before.len() == self.new.0.len();
        let is_over = self.order.retry == Retry::Over && self.view().0.get(DOCUMENT) == self.new.0.get(DOCUMENT);
        let answer = if Self::goes_on_inside(state) { self.again() } else { self.again_as_a_process() };
        if is_over {
            // A run that was not told yet is told now.
            assert!(answer.code == Some(0) || error_object(&answer.exits(3))["code"] == "no_interview");
        } else if self.order.retry == Retry::Taken && there {
            let answer = answer.exits(1);
            assert_eq!(error_object(&answer)["code"], "run_exists");
        } else {
            let code = answer.code;
            assert!(code == Some(0) || answer.stdout.contains("\"claim\":{"), "the retry: {answer:?}");
        }
        self.assert_kept();
        let seen = self.view().without_times();
        let wanted = self.new.as_far_as_told(&seen).without_times();
        let events = self.events_now();
        match self.order.retry {
            Retry::Same | Retry::Taken | Retry::Over => {
                assert_same(&seen, &wanted, "the retry");
                assert_eq!(events, self.events, "events after the retry");
            }
            Retry::Another => {
                assert_eq!(seen.0.len(), before.len() + 1, "runs after the retry");
                let first = self.events.values().next();
                assert!(events.values().all(|events| Some(events) == first), "{events:?}");
            }
            Retry::OnceMore => {
                let (once, now) = (&self.events["r1"], &events["r1"]);
                assert!(once.len() <= now.len() && now.len() <= 2 * once.len(), "{now:?}");
                let last = seen.0["r1"]["show"]["activities"].as_array().unwrap().last();
                assert_eq!(last.unwrap()["status"], "passed", "the retry");
            }
            Retry::Again => {
                let (run, once) = self.events.iter().next().unwrap();
                let twice: Vec<_> = once.iter().chain(once.last()).cloned().collect();
                assert!(events[run] == *once || events[run] == twice, "{events:?}");
            }
        }
    }

    /// Nothing is left of the trouble.
    #[track_caller]
    fn assert_at_rest(&self, state: &State) {
        let mut aside = self.sandbox.assert_modes_sound();
        for run in self.sandbox.runs() {
            self.sandbox.assert_sound(&run);
            aside.extend(self.sandbox.quarantined(&run));
        }
        for text in &self.order.puts_aside {
            assert!(aside.contains(text), "{text:?} is gone: {aside:?}");
        }
        // What a death interrupted may have been put aside already, in part.
        let partial = |text: &String| state.kills && self.order.puts_aside.iter().any(|whole| whole.starts_with(text));
        let stayed = |text: &String| !state.kills && self.order.may_put_aside.as_ref() == Some(text);
        aside.retain(|text| !self.order.puts_aside.contains(text) && !partial(text) && !stayed(text));
        assert!(aside.is_empty(), "clutter in quarantine: {aside:?}");
        assert_eq!(self.sandbox.find(".flow", ".new-"), None, "half a run is left");
        let own = Files::of(&self.sandbox).own();
        for (name, text) in self.undisturbed().own() {
            assert_eq!(own.get(&name), Some(&text), "{} in .flow", name.display());
        }
        let more: Vec<_> = own.keys().filter(|name| !self.undisturbed().own().contains_key(*name)).cloned().collect();
        assert!(more.is_empty(), "left in .flow: {more:?}");
        let strays = Files::of(&self.sandbox).strays_of_documents();
        assert!(strays.is_empty(), "left beside the document for good: {strays:?}");
        if !Files::of(&self.sandbox).strays().is_empty() {
            let args = [
                "start", "debug", "--another", "--issue", "42", "--id", "sweeper", "--branch", "main", "--repo", "a/b",
            ];
            self.sandbox.inside(args).ok();
            let strays = Files::of(&self.sandbox).strays();
            assert!(strays.is_empty(), "left beside the journal for good: {strays:?}");
        }
    }
}

#[track_caller]
fn assert_same(seen: &View, wanted: &View, when: &str) {
    assert_eq!(seen.0.keys().collect::<Vec<_>>(), wanted.0.keys().collect::<Vec<_>>(), "{when}");
    for (run, view) in &seen.0 {
        assert!(*view == wanted.0[run], "{when}: {run}: {}", difference(&wanted.0[run], view));
    }
}

/// Where two values differ.
fn difference(wanted: &Value, seen: &Value) -> String {
    let part = |value: &Value, key: &str| match value {
        Value::Array(list) => key.parse().ok().and_then(|at: usize| list.get(at)).cloned(),
        value => value.get(key).cloned(),
    };
    let keys: Vec<String> = match (wanted, seen) {
        (Value::Object(wanted), Value::Object(seen)) => wanted.keys().chain(seen.keys()).cloned().collect(),
        (Value::Array(wanted), Value::Array(seen)) => {
            (0..wanted.len().max(seen.len())).map(|at| at.to_string()).collect()
        }
        _ => return format!("{seen} instead of {wanted}"),
    };
    let differs = |key: &&String| part(wanted, key) != part(seen, key);
    let Some(key) = keys.iter().find(differs) else { return "nothing".to_owned() };
    let of = |value| part(value, key).unwrap_or_default();
    format!("{key}.{}", difference(&of(wanted), &of(seen)))
}
