//! What the words behind a skill mean for it: they can end it, take it back, or speak of it.

use super::lists::{ASKING, BACK, ENDING_ALONE, FAILURES, LEADING_TO_END, PREPOSITIONS, SPEAKING, TAILS, TURNING};
use super::sentence::Sense;

/// How many bytes behind a skill are looked at, and how many further skills of its block.
const BYTES: usize = 200;
const SKILLS: usize = 8;

/// How a request is meant after all, by what stands behind its skill; `None` if it stays one.
pub(super) fn sense_behind(rest: &str) -> Option<Sense<'_>> {
    let line = rest[..rest.floor_char_boundary(BYTES)].lines().next()?;
    let line = behind_block(line).trim_start_matches([',', ':', '!', '-', '–', '—', ' ', '\t', '*']);
    let end = end_of_sentence(line);
    let (sentence, is_question) = (&line[..end], line[end..].starts_with('?'));
    let mut clauses = sentence.split([',', '—', '–']).map(str::trim);
    let first = clauses.next()?;
    let words = words_of(first);
    if ends(&words) {
        return Some(Sense::Ending);
    }
    if !is_question && speaks_of(&words) {
        return Some(Sense::Behind(first));
    }
    std::iter::once(first).chain(clauses).find(|clause| takes_back(clause)).map(Sense::Behind)
}

/// What stands behind the other skills of the same block.
fn behind_block(line: &str) -> &str {
    let mut rest = line;
    for _ in 0..SKILLS {
        let Some(name) = rest.trim_start().strip_prefix('$') else { break };
        rest = name.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | ':'));
    }
    rest
}

/// Where the first sentence of a line ends. A full stop in a word ends none.
fn end_of_sentence(line: &str) -> usize {
    let mut signs = line.match_indices(['.', ';', '!', '?']).map(|(at, _)| at);
    let end = signs.find(|at| line[at + 1..].chars().next().is_none_or(|next| !next.is_alphanumeric()));
    end.unwrap_or(line.len())
}

/// The words of a clause, in lower case, as far as they matter.
fn words_of(clause: &str) -> Vec<String> {
    clause.split_whitespace().take(16).map(|word| word.to_lowercase().replace('’', "'")).collect()
}

fn is_in(words: &[&str], word: &str) -> bool {
    words.contains(&word)
}

/// Whether a clause does nothing but end: "off", "please stop now". With more words it is work: "stop the flaky tests".
fn ends(words: &[String]) -> bool {
    let lead = words.iter().take_while(|word| is_in(LEADING_TO_END, word)).count();
    let tail = match &words[lead..] {
        [turn, off, tail @ ..] if is_in(TURNING, turn) && is_in(&["off", "down"], off) => tail,
        [end, tail @ ..] if is_in(ENDING_ALONE, end) => tail,
        _ => return false,
    };
    tail.iter().all(|word| is_in(TAILS, word))
}

/// Whether a clause tells how the skill is, or what became of it: "is broken", "crashed". "is there a leak" asks it.
fn speaks_of(words: &[String]) -> bool {
    let lead = words.iter().take_while(|word| is_in(&["mode", "skill", "just", "still", "now"], word)).count();
    let Some((verb, behind)) = words[lead..].split_first() else { return false };
    let next = behind.first();
    if is_in(FAILURES, verb) {
        return next.is_none_or(|next| is_in(PREPOSITIONS, next));
    }
    match verb.as_str() {
        "has" | "had" => next.is_some_and(|next| is_in(FAILURES, next) || is_in(&["been", "not", "no"], next)),
        "does" | "did" => next.is_some_and(|next| is_in(&["not", "nothing"], next)),
        "keeps" | "kept" => next.is_some_and(|next| next.ends_with("ing")),
        _ => is_in(SPEAKING, verb) && next.is_some_and(|next| !is_in(ASKING, next)),
    }
}

/// Whether a clause takes back what was said: "no wait". With more words it says how to work: "don't touch the tests".
fn takes_back(clause: &str) -> bool {
    BACK.contains(&words_of(clause).join(" ").as_str())
}
