//! Enums whose values have names, as files and reports have them.

/// Declares an enum with a name for each value: by serde and `as_str`, `Display`, and back by `FromStr`. `ALL` lists the
/// values in their order. The enum has to derive a trait of serde.
macro_rules! named {
    (
        $(#[$meta:meta])*
        $vis:vis enum $kind:ident {
            $($(#[$about:meta])* $value:ident = $name:tt,)+
        }
    ) => {
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
                match name {
                    $($name => Ok(Self::$value),)+
                    _ => Err(()),
                }
            }
        }
    };
}

pub(crate) use named;
