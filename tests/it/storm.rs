//! Many processes that write, read and die at once.

use crate::support::storm::{Plan, storm};

#[test]
fn after_a_storm_of_writers_readers_and_kills_nothing_is_missing_double_or_torn() {
    let plan = Plan::from_env();
    let told = format!(
        "FLOW_STORM=processes={},commands={},runs={},kills={},seed={}",
        plan.processes, plan.commands, plan.runs, plan.kills, plan.seed
    );
    let storm = storm(&plan);
    assert!(storm.broken.is_empty(), "{told}\n{}", storm.broken.join("\n"));
    assert!(storm.looks > 0 && storm.killed() > 0, "{told}: {} looks, {} killed", storm.looks, storm.killed());
    storm.settle();
}
