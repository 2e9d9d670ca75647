//! Parsers for the values of options.

use std::str::FromStr;
use std::time::Duration;

use crate::model::{BadName, Timestamp, limits};
use crate::runs::Advance;

/// The most seconds that may be waited.
const MOST: f64 = 1e6;

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=MOST).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| format!("give a number of seconds from 0 to {MOST}"))
}

/// How long a command may run, or an agent may think.
pub(super) fn time_limit(text: &str) -> Result<Duration, String> {
    let limit = seconds(text).ok().filter(|limit| !limit.is_zero());
    limit.ok_or_else(|| format!("give a number of seconds above 0, at most {MOST}"))
}

pub(super) fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "give a whole number".to_owned())
}

/// What stands for the only next phase where none is named. The system passes no argument with a NUL byte.
pub(super) const ONLY_NEXT: &str = "\0";

/// A phase to move on to.
pub(super) fn advance(given: &str) -> Result<Advance, BadName> {
    if given == ONLY_NEXT { Ok(Advance::Next) } else { given.parse().map(Advance::To) }
}

/// A number of tokens.
pub(super) fn tokens(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(number) if number <= limits::COUNTER => Ok(number),
        _ => Err(format!("give a whole number from 0 to {}", limits::COUNTER)),
    }
}

pub(super) fn port(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| format!("give a port from 1 to {}", u16::MAX))
}

pub(super) fn command_of_type(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((kind, command)) if !kind.trim().is_empty() && !command.trim().is_empty() => {
            Ok((kind.trim().to_owned(), command.to_owned()))
        }
        _ => Err("write it as TYPE=COMMAND, such as agent='my-agent --quiet'".to_owned()),
    }
}

/// Any text, also one that begins with a hyphen. What looks like an option is refused: it was probably meant as one.
pub(super) fn text(given: &str) -> Result<String, String> {
    let word = given.split('=').next().unwrap_or_default();
    let is_long = matches!(word.strip_prefix("--"), Some(name) if is_name(name));
    let is_short = matches!(given.strip_prefix('-'), Some(name) if name.len() == 1 && is_name(name));
    if is_long || is_short {
        return Err("this looks like an option; put a space before it if it is a text".to_owned());
    }
    Ok(given.to_owned())
}

fn is_name(word: &str) -> bool {
    word.starts_with(char::is_alphabetic) && word.chars().all(|c| c.is_alphanumeric() || c == '-')
}

pub(super) fn time(text: &str) -> Result<String, String> {
    // The verb reads it again, with the words of its own error.
    match text.parse::<Timestamp>() {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The number of a pull request, also as `#7`.
pub(super) fn pull_request(text: &str) -> Result<u64, String> {
    positive(text.strip_prefix('#').unwrap_or(text))
}

pub(super) fn positive(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(number) if (1..=limits::COUNTER).contains(&number) => Ok(number),
        _ => Err(format!("give a whole number from 1 to {}", limits::COUNTER)),
    }
}
