//! How a request is written as JSON where its own types are not.

/// A time span as a number of seconds.
pub mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes it.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn serialize<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(span.as_secs_f64())
    }

    /// Reads it.
    ///
    /// # Errors
    /// When it is not a number, is negative, or is longer than a span can be.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// Names with values as an object that keeps their order.
pub mod pairs {
    use std::fmt;
    use std::marker::PhantomData;

    use serde::de::{MapAccess, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes them.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn serialize<T: Serialize, S: Serializer>(pairs: &[(String, T)], to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(pairs.iter().map(|(name, value)| (name, value)))
    }

    /// Reads them.
    ///
    /// # Errors
    /// When it is not an object of such values.
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
            let mut pairs = Vec::new();
            while let Some(pair) = from.next_entry()? {
                pairs.push(pair);
            }
            Ok(pairs)
        }
    }
}
