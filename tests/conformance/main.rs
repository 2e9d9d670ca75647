//! What every store of runs promises, and the stores that are held to it. A new store brings a [`TestedStore`] and a line in
//! [`kept_by_every_store`].
#![expect(clippy::disallowed_methods, reason = "tests set up and look at files directly")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod actual_server;
mod bucket;
mod chaos;
mod credentials;
mod damaged_bucket;
mod git_server;
mod in_bucket;
mod memory_carrier;
mod memory_store;
mod moved;
mod orders;
mod promises;
mod shared;
mod tested_store;
mod verbs;

#[path = "../it/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tests of the program use the rest")]
mod support;

use tested_store::{
    Local, Memory, SharedInBucket, SharedInGit, SharedInGitBehindHttp, SharedInGitByUrl, SharedInMemory, TestedStore,
};

macro_rules! kept_by_every_store {
    ($($promises:ident::$sentence:ident),* $(,)?) => {
        mod local {
            $(#[test] fn $sentence() { super::$promises::$sentence(&super::Local::default()); })*
        }
        mod memory {
            $(#[test] fn $sentence() { super::$promises::$sentence(&super::Memory::default()); })*
        }
        mod shared_in_memory {
            $(#[test] fn $sentence() { super::$promises::$sentence(&super::SharedInMemory::default()); })*
        }
        mod shared_in_git_by_url {
            $(#[test] fn $sentence() { super::$promises::$sentence(&super::SharedInGitByUrl::default()); })*
        }
        mod shared_in_git_behind_http {
            $(#[test] fn $sentence() {
                if super::git_server::is_here(concat!("conformance: behind HTTP, ", stringify!($sentence))) {
                    super::$promises::$sentence(&super::SharedInGitBehindHttp::default());
                }
            })*
        }
        mod shared_in_bucket {
            $(#[test] fn $sentence() { super::$promises::$sentence(&super::SharedInBucket::default()); })*
        }
    };
}

kept_by_every_store! {
    promises::a_run_that_was_created_is_listed_and_can_be_opened,
    promises::a_run_that_is_not_there_is_not_found,
    promises::an_id_that_is_taken_is_not_given_again,
    promises::of_many_creators_of_one_id_one_succeeds,
    promises::events_come_back_as_they_were_committed,
    promises::a_batch_is_committed_as_a_whole_or_not_at_all,
    promises::the_text_and_the_activity_files_follow_a_commit,
    promises::the_end_of_a_log_says_what_the_whole_log_says,
    promises::events_in_which_a_text_stands_are_found_latest_first,
    promises::a_follower_sees_every_event_once,
    promises::a_follower_that_begins_behind_an_event_sees_every_later_one_once,
    promises::a_follower_reads_a_log_from_its_beginning_that_was_replaced,
    promises::of_two_writers_of_one_run_the_second_one_waits_or_decides_again,
    promises::a_text_that_a_person_saves_during_a_commit_is_merged,
    promises::a_text_that_cannot_be_merged_stays_as_the_person_saved_it,
    promises::how_far_writers_got_is_known_after_an_older_log_was_put_back,
    promises::a_stamp_differs_after_every_change,
    promises::a_file_of_evidence_is_there_with_the_commit_that_names_it,
    verbs::a_run_goes_from_its_start_to_its_end,
    verbs::many_writers_at_once_lose_nothing_and_use_no_position_twice,
    verbs::a_repeated_record_with_an_id_is_recorded_once,
    verbs::an_edit_by_hand_is_adopted_by_the_next_record,
    verbs::a_run_without_its_text_is_rebuilt_from_its_log,
    verbs::who_lost_a_run_to_a_claim_cannot_write_to_it,
    verbs::a_run_that_ends_is_open_no_more_and_goes_on_when_it_is_reopened,
    verbs::reports_begin_a_run_and_carry_it_to_its_end,
    verbs::a_followed_log_ends_with_its_run,
    verbs::a_feed_shows_what_reading_anew_shows,
    verbs::a_feed_counts_the_runs_of_each_group,
}

#[test]
fn an_activity_file_that_was_set_aside_is_written_again() {
    promises::an_activity_file_that_was_set_aside_is_written_again(&Local::default());
}

/// Beside its own promises, a store changes nothing in what a run says.
#[test]
fn the_same_commands_make_the_same_run_in_every_store() {
    let local = verbs::whole_run(&Local::default());
    let shared = [&SharedInMemory::default() as &dyn TestedStore, &SharedInGit::default(), &SharedInBucket::default()];
    for other in [&Memory::default() as &dyn TestedStore].into_iter().chain(shared) {
        let run = verbs::whole_run(other);
        for (one, other) in local.iter().zip(&run) {
            assert_eq!(one, other);
        }
        assert_eq!(local.len(), run.len());
    }
}
