//! The text of an environment variable.

use std::ffi::OsString;
use std::str::FromStr;

use thiserror::Error;

/// The unchecked text of a variable. It is checked where it is used, so that a command that does not use it cannot fail
/// because of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The name of the variable.
    pub variable: &'static str,
    /// Its value.
    pub raw: OsString,
}

/// A variable with an invalid value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{variable} is {text:?}: {reason}")]
pub struct BadSetting {
    /// The name of the variable.
    pub variable: &'static str,
    /// Its value, with invalid UTF-8 replaced.
    pub text: String,
    /// Why it is invalid.
    pub reason: String,
}

impl Setting {
    /// The variable, unless it is unset or empty.
    pub(super) fn of(variable: &'static str, lookup: &impl Fn(&'static str) -> Option<OsString>) -> Option<Self> {
        let raw = lookup(variable)?;
        if raw.is_empty() { None } else { Some(Self { variable, raw }) }
    }

    pub(super) fn bad(&self, reason: impl Into<String>) -> BadSetting {
        BadSetting { variable: self.variable, text: self.raw.to_string_lossy().into_owned(), reason: reason.into() }
    }

    /// The value as yes or no.
    ///
    /// # Errors
    /// [`BadSetting`] if it is neither.
    pub fn yes(&self) -> Result<bool, BadSetting> {
        match self.raw.to_string_lossy().to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Ok(true),
            "0" | "false" | "no" | "off" => Ok(false),
            _ => Err(self.bad("it is 1 or 0 (true or false, yes or no, on or off)")),
        }
    }

    /// The value, parsed as a `T` that has no words of its own for what is wrong; `needed` says what it must be.
    ///
    /// # Errors
    /// [`BadSetting`] if it is not a `T`.
    pub(super) fn number<T: FromStr>(&self, needed: &str) -> Result<T, BadSetting> {
        let number = self.raw.to_str().and_then(|text| text.parse().ok());
        number.ok_or_else(|| self.bad(needed))
    }

    /// The value, parsed as a `T`.
    ///
    /// # Errors
    /// [`BadSetting`] if it is not a `T` or not UTF-8.
    pub fn parse<T: FromStr>(&self) -> Result<T, BadSetting>
    where
        T::Err: std::fmt::Display,
    {
        let text = self.raw.to_str().ok_or_else(|| self.bad("not UTF-8"))?;
        text.parse().map_err(|error: T::Err| self.bad(error.to_string()))
    }
}
