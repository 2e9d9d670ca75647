//! JSON formats for fields of requests whose own types have none.

/// A duration as a number of seconds.
pub mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the duration.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn serialize<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(span.as_secs_f64())
    }

    /// Reads the duration.
    ///
    /// # Errors
    /// If it is not a number, is negative, or is too large for a duration.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        // `from_secs_f64` would panic on a number that no duration can have.
        Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// Pairs of names and values as an object, in order.
pub mod pairs {
    use std::fmt;
    use std::marker::PhantomData;

    use serde::de::{MapAccess, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the pairs.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn serialize<T: Serialize, S: Serializer>(pairs: &[(String, T)], to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(pairs.iter().map(|(name, value)| (name, value)))
    }

    /// Reads the pairs.
    ///
    /// # Errors
    /// If it is not an object with such values.
    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Vec<(String, T)>, D::Error> {
        from.deserialize_map(Pairs(PhantomData))
    }

    struct Pairs<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Pairs<T> {
        type Value = Vec<(String, T)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
            // Not by way of a map, in which order and repeats would be lost.
            let mut pairs = Vec::new();
            while let Some(pair) = from.next_entry()? {
                pairs.push(pair);
            }
            Ok(pairs)
        }
    }
}
