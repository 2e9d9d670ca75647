//! Parsers for the values of options.

use std::time::Duration;

use crate::model::{Timestamp, limits};

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "give a number of seconds".to_owned())?;
    let sane = (0.0..=1e6).contains(&seconds);
    if sane {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("give a number of seconds from 0 to 1000000".to_owned())
    }
}

pub(super) fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "give a whole number".to_owned())
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

pub(super) fn exit_status(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| "give a whole number".to_owned())
}

/// Any text, also one that begins with a hyphen. What looks like an option is refused: it was probably meant as one.
pub(super) fn text(given: &str) -> Result<String, String> {
    let is_word =
        |word: &str| word.starts_with(char::is_alphabetic) && word.chars().all(|c| c.is_alphanumeric() || c == '-');
    let word = given.split('=').next().unwrap_or_default();
    let long = word.strip_prefix("--").is_some_and(is_word);
    let short = given.strip_prefix('-').is_some_and(|rest| rest.len() == 1 && is_word(rest));
    if long || short {
        return Err("this looks like an option; put a blank before it, or other words, if it is a text".to_owned());
    }
    Ok(given.to_owned())
}

pub(super) fn time(text: &str) -> Result<String, String> {
    text.parse::<Timestamp>().map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// The number of a pull request, also as `#7`.
pub(super) fn pull_request(text: &str) -> Result<u64, String> {
    positive(text.strip_prefix('#').unwrap_or(text))
}

pub(super) fn positive(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (1..=limits::COUNTER).contains(number));
    number.ok_or_else(|| format!("give a whole number from 1 to {}", limits::COUNTER))
}
