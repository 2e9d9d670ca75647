//! Points in time, always in UTC and in one format; and the times that a file system tells.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, SecondsFormat, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de};
use thiserror::Error;

/// A point in time in UTC, written as RFC 3339 with milliseconds, `2026-05-20T14:30:00.000Z`. Times are only
/// information for people. Order follows from positions in the log, because clocks may go backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(transparent, extend("format" = "date-time"))]
pub struct Timestamp(#[schemars(with = "String")] DateTime<Utc>);

/// A time of a file, as the file system tells it: seconds and nanoseconds since 1970.
pub(crate) type FileTime = (i64, i64);

/// A moment by the clock of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskTime {
    /// When a file was last changed that was made at that moment. No program can set this time.
    pub changed: FileTime,
    /// The device number of the file system, since another one may have another clock.
    pub device: u64,
}

impl Timestamp {
    /// Converts a time, truncated to milliseconds.
    #[must_use]
    pub fn new(at: DateTime<Utc>) -> Self {
        // The value must equal the one that is read back, which has only milliseconds.
        Self(DateTime::from_timestamp_millis(at.timestamp_millis()).unwrap_or(at))
    }

    /// The compact form at the head of a run id, `2026-05-20T143000Z` (FlowRun).
    #[must_use]
    pub fn compact(self) -> String {
        self.0.format("%Y-%m-%dT%H%M%SZ").to_string()
    }

    /// The form without milliseconds that a scratch pad uses, `2025-12-27T10:30:00Z` (rp1).
    #[must_use]
    pub fn in_seconds(self) -> String {
        self.0.to_rfc3339_opts(SecondsFormat::Secs, true)
    }

    /// The form in all files of flow, `2026-05-20T14:30:00.000Z`.
    fn in_milliseconds(self) -> String {
        self.0.to_rfc3339_opts(SecondsFormat::Millis, true)
    }

    /// Whole minutes from `self` to `later`, never negative.
    #[must_use]
    pub fn minutes_until(self, later: Self) -> u64 {
        // Clocks may go backwards.
        u64::try_from((later.0 - self.0).num_minutes()).unwrap_or(0)
    }

    /// Milliseconds from `self` to `later`, never negative.
    #[must_use]
    pub fn milliseconds_until(self, later: Self) -> u64 {
        u64::try_from((later.0 - self.0).num_milliseconds()).unwrap_or(0)
    }

    /// So many seconds after the epoch of Unix; `None` beyond what a date can be.
    #[must_use]
    pub fn of_unix(seconds: i64) -> Option<Self> {
        DateTime::from_timestamp(seconds, 0).map(Self)
    }

    /// One millisecond earlier.
    #[must_use]
    pub fn just_before(self) -> Self {
        Self(self.0 - chrono::TimeDelta::milliseconds(1))
    }

    /// This many milliseconds later.
    #[must_use]
    pub fn later(self, milliseconds: i64) -> Self {
        Self(self.0 + chrono::TimeDelta::milliseconds(milliseconds))
    }

    /// The value for arithmetic.
    #[must_use]
    pub fn as_datetime(self) -> DateTime<Utc> {
        self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.in_milliseconds())
    }
}

/// A text that is not a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("this is not a time like 2026-05-20T14:30:00Z")]
pub struct BadTime;

impl FromStr for Timestamp {
    type Err = BadTime;
    fn from_str(text: &str) -> Result<Self, BadTime> {
        let at = DateTime::parse_from_rfc3339(text).map_err(|_| BadTime)?;
        Ok(Self::new(at.with_timezone(&Utc)))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // Not through a formatter: each line of a log has several.
        to.serialize_str(&self.in_milliseconds())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct TimestampVisitor;
        impl de::Visitor<'_> for TimestampVisitor {
            type Value = Timestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time like 2026-05-20T14:30:00Z")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }
        }
        // Not by way of a `String`: lists parse thousands of times.
        from.deserialize_str(TimestampVisitor)
    }
}
