//! Values that files and reports have as a text: the one that `Display` gives.

/// Serde and JSON Schema for such a value, each as far as it is named.
macro_rules! as_text {
    (Serialize for $kind:ident) => {
        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
    };
    (Deserialize for $kind:ident) => {
        impl<'de> serde::Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(from)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
    (JsonSchema for $kind:ident, $schema:tt) => {
        impl schemars::JsonSchema for $kind {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($kind).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
    ($kind:ident, $pattern:literal, $about:literal) => {
        as_text!(Serialize for $kind);
        as_text!(Deserialize for $kind);
        as_text!(JsonSchema for $kind, { "type": "string", "pattern": $pattern, "description": $about });
    };
}

pub(super) use as_text;
