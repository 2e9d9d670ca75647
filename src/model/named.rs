//! Enums whose values have names, as files and reports have them.

/// Declares an enum with a name for each value: by serde and `as_str`, `Display`, and back by `FromStr`. `ALL` lists the
/// values in their order.
macro_rules! named {
    (
        $(#[$meta:meta])*
        $vis:vis enum $kind:ident {
            $($(#[$about:meta])* $value:ident = $name:tt,)+
        }
    ) => {
        #[derive(serde::Serialize)]
        $(#[$meta])*
        $vis enum $kind {
            $($(#[$about])* #[serde(rename = $name)] $value,)+
        }

        impl $kind {
            /// All values, in their usual order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// The name, as in files and reports.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                // `pad`, since lists align these words.
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $kind {
            type Err = ();
            fn from_str(name: &str) -> std::result::Result<Self, ()> {
                Self::ALL.into_iter().find(|value| value.as_str() == name).ok_or(())
            }
        }
    };
}

pub(crate) use named;
