//! Many processes that write, read and die at once.

use std::time::Instant;

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
