//! Amounts of money: exact decimal numbers and their currency. No number with a binary point is involved, so sums are exact.

use std::fmt;
use std::str::FromStr;

use crate::model::as_text::as_text;

/// The most digits before the point.
const WHOLE: usize = 18;
/// The most digits behind it.
const DECIMALS: usize = 12;

/// A decimal number that is not negative, such as `0.42`. It keeps as many decimals as were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// The number without its point.
    pub(super) digits: u128,
    /// How many of the digits are behind the point.
    pub(super) decimals: u32,
}

impl Amount {
    /// The exact sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let decimals = self.decimals.max(other.decimals);
        // Each amount has at most 30 digits, so that even a hundred million of them do not reach the limit.
        Self { digits: self.with(decimals).saturating_add(other.with(decimals)), decimals }
    }

    /// The digits of the same number with this many decimals, which are not fewer.
    fn with(self, decimals: u32) -> u128 {
        self.digits.saturating_mul(10_u128.pow(decimals - self.decimals))
    }
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (whole, behind) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        if !is_number(whole) || !is_number(behind) || whole.len() > WHOLE || behind.len() > DECIMALS {
            return Err(format!(
                "write a decimal number that is not negative, such as 0.42, with at most {WHOLE} digits before the point \
                 and {DECIMALS} behind it"
            ));
        }
        let behind = if text.contains('.') { behind } else { "" };
        let digits = format!("{whole}{behind}").parse().map_err(|_| "it is too large".to_owned())?;
        Ok(Self { digits, decimals: u32::try_from(behind.len()).unwrap_or_default() })
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = self.decimals as usize;
        let digits = format!("{:0>width$}", self.digits, width = decimals + 1);
        let (whole, behind) = digits.split_at(digits.len() - decimals);
        if behind.is_empty() { f.write_str(whole) } else { write!(f, "{whole}.{behind}") }
    }
}

/// A currency by its code of three capital letters (ISO 4217), such as `USD`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Currency(String);

impl FromStr for Currency {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() == 3 && text.bytes().all(|letter| letter.is_ascii_uppercase()) {
            return Ok(Self(text.to_owned()));
        }
        Err("write three capital letters, such as USD".to_owned())
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

as_text!(Amount, r"^[0-9]{1,18}(\.[0-9]{1,12})?$", "A decimal number, such as 0.42.");
as_text!(Currency, "^[A-Z]{3}$", "A currency, such as USD.");

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(text: &str) -> Amount {
        text.parse().unwrap()
    }

    #[test]
    fn amounts_are_added_exactly_and_keep_their_decimals() {
        let tenths = (0..10).fold(Amount::default(), |sum, _| sum.plus(amount("0.1")));
        assert_eq!(tenths.to_string(), "1.0");
        for (one, other, sum) in [
            ("0.42", "0.08", "0.50"),
            ("0.1", "0.2", "0.3"),
            ("999999999999999999.999999999999", "0.000000000001", "1000000000000000000.000000000000"),
            ("007", "0", "7"),
            ("1", "0.005", "1.005"),
        ] {
            assert_eq!(amount(one).plus(amount(other)).to_string(), sum);
        }
    }

    #[test]
    fn what_is_not_a_plain_decimal_number_is_refused() {
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", "0x1", "٣", "1.0.0", " 1", "NaN", "inf"] {
            assert!(text.parse::<Amount>().is_err(), "{text}");
        }
        assert!("1".repeat(19).parse::<Amount>().is_err());
        assert!(format!("0.{}", "1".repeat(13)).parse::<Amount>().is_err());
        for text in ["", "usd", "US", "USDT", "U$D", "ÜSD"] {
            assert!(text.parse::<Currency>().is_err(), "{text}");
        }
    }
}
