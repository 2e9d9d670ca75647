//! The promises of flow, tested on the real program and the real library.
#![expect(clippy::disallowed_methods, reason = "tests set up and look at files, clocks and processes directly")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

mod commands;
mod concurrency;
mod conformance;
mod diagrams;
mod disks;
mod docs;
mod doctor;
mod doctor_kill;
mod drive;
mod drive_known;
mod drive_people;
mod emit;
mod engine;
mod faults;
mod flowrun_session;
mod fuzz_corpus;
mod git_histories;
mod git_moves;
mod hostile_bombs;
mod hostile_documents;
mod hostile_names;
mod hostile_paths;
mod hostile_trees;
mod images;
mod interview_pads;
mod interview_talks;
mod interviews;
mod kill;
mod limits;
mod lock;
mod mode_commands;
mod mode_trouble;
mod mode_words;
mod modes;
mod next;
mod old_runs;
mod open_runs;
mod power;
mod properties;
mod recovery;
mod saying;
mod signals;
mod sim;
mod storm;
mod terminal;
mod tidy;
mod tours;
mod units;
mod verdicts;
mod verify;
mod work_done;
mod working_tree;
