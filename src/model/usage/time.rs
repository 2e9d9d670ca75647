//! How long a piece of work took.

use std::fmt;
use std::str::FromStr;

use crate::model::as_text::as_text;
use crate::model::limits;
use crate::model::usage::Amount;

/// The units, each with its milliseconds; one that ends another one comes first.
const UNITS: [(&str, u128); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// How long a piece of work took: a number with its unit, such as `12.5s`. It is exact to a millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeUsed {
    ms: u64,
}

impl TimeUsed {
    /// So many milliseconds.
    #[must_use]
    pub fn of_ms(ms: u64) -> Self {
        Self { ms: ms.min(limits::COUNTER) }
    }

    /// The milliseconds.
    #[must_use]
    pub fn ms(self) -> u64 {
        self.ms
    }
}

impl FromStr for TimeUsed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        for (unit, each) in UNITS {
            let Some(number) = text.strip_suffix(unit) else { continue };
            let Ok(number) = number.parse::<Amount>() else { continue };
            let (ms, scale) = (number.digits.saturating_mul(each), 10_u128.pow(number.decimals));
            if ms % scale != 0 {
                return Err("it is not a whole number of milliseconds".to_owned());
            }
            return match u64::try_from(ms / scale) {
                Ok(ms) if ms <= limits::COUNTER => Ok(Self { ms }),
                _ => Err("it is too long".to_owned()),
            };
        }
        Err("write a number and its unit, ms, s, m or h, such as 12.5s".to_owned())
    }
}

impl fmt::Display for TimeUsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, rest) = (self.ms / 1000, self.ms % 1000);
        let behind = format!("{rest:03}");
        match behind.trim_end_matches('0') {
            "" => write!(f, "{seconds}s"),
            behind => write!(f, "{seconds}.{behind}s"),
        }
    }
}

as_text!(TimeUsed, r"^[0-9]{1,18}(\.[0-9]{1,12})?(ms|s|m|h)$", "A duration with its unit, such as 12.5s.");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_a_unit_and_is_exact() {
        for (text, ms, shown) in [
            ("12.5s", 12_500, "12.5s"),
            ("340ms", 340, "0.34s"),
            ("0s", 0, "0s"),
            ("1.5h", 5_400_000, "5400s"),
            ("2m", 120_000, "120s"),
            ("0.001s", 1, "0.001s"),
        ] {
            let time: TimeUsed = text.parse().unwrap();
            assert_eq!((time.ms(), time.to_string().as_str()), (ms, shown), "{text}");
        }
        for text in ["", "12", "s", "-1s", "1e3s", "1.0005s", "1d", "1 s", "999999999999999999h"] {
            assert!(text.parse::<TimeUsed>().is_err(), "{text}");
        }
    }
}
