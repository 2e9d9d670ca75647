//! Many processes that write, read and die at once.

use std::time::Instant;

use crate::support::can_inject;
use crate::support::storm::{Plan, storm};

#[test]
#[expect(clippy::print_stdout, reason = "shown with --nocapture: how large the storm was")]
fn after_a_storm_of_writers_readers_and_kills_nothing_is_missing_double_or_torn() {
    let plan = Plan::from_env();
    let begun = Instant::now();
    let storm = storm(&plan);
    let (told, killed, took) = (storm.told.len(), storm.killed(), begun.elapsed());
    println!("{plan}: {told} commands, {killed} killed, {} looks in {took:?}", storm.looks);
    assert!(storm.broken.is_empty(), "{plan}\n{}", storm.broken.join("\n"));
    assert!(storm.looks > 0 && killed > 0, "{plan}: {} looks, {killed} killed", storm.looks);
    storm.settle();
    println!("settled in {:?}", begun.elapsed() - took);
}

/// A storm that finds nothing is worth what it would find.
#[test]
fn a_storm_sees_locks_that_exclude_nobody() {
    if !can_inject("a_storm_sees_locks_that_exclude_nobody") {
        return;
    }
    const PREFIX: &[&str] = &["strace", "-qq", "-o", "/dev/null", "-e", "inject=flock:retval=0", "--"];
    let plan = Plan { kills: 0, prefix: PREFIX, ..Plan::from_env() };
    let mut broken = Vec::new();
    // What comes of the mistake is the scheduler's choice, and a busy machine seldom lets two choose at once.
    for nth in 0..4 {
        broken.extend(storm(&Plan { seed: plan.seed.wrapping_add(nth), ..plan.clone() }).broken);
        let seen = |what: &str| broken.iter().any(|broken| broken.contains(what));
        // Two may have been told the same, or one was told what another overwrote.
        let is_broken = seen("was promised to") || seen("was acknowledged and is not there");
        if seen("position") && seen("times") && is_broken {
            return;
        }
    }
    panic!("{plan}: no position twice, or no promise broken, among\n{}", broken.join("\n"));
}
