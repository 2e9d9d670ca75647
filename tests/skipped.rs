//! Prints what the tests of this run of `cargo test` left out, and for want of what. Cargo runs test programs in the order
//! of their names, so this one comes after `it`.
#![expect(clippy::disallowed_methods, reason = "tests look at files directly")]
#![expect(clippy::print_stdout, reason = "this is a program of its own, for people")]

#[path = "it/support/lack.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod lack;

fn main() {
    // What asks for the names of tests, or for one of them, means others.
    if std::env::args().any(|arg| arg == "--list") {
        return;
    }
    let noted = lack::noted();
    if noted.is_empty() {
        return println!("\nno check was skipped\n");
    }
    let mut tests: Vec<_> = noted.iter().map(|(_, test)| test).collect();
    tests.sort();
    tests.dedup();
    println!("\nskipped, in whole or in part: {} tests", tests.len());
    for group in noted.chunk_by(|one, other| one.0 == other.0) {
        println!("  for want of {}: {}", group[0].0.need, group[0].0.why);
        group.iter().for_each(|(_, test)| println!("    {test}"));
    }
    let required = lack::REQUIRE;
    println!("{required}=NAME,NAME makes it a failure to lack these; `all` stands for {}\n", lack::ALL);
}
