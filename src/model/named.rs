//! The names of the values of an enum, as files and reports have them.

/// Gives an enum the names of its values by `as_str`.
macro_rules! words {
    ($kind:ident { $($value:ident => $name:literal,)+ }) => {
        impl $kind {
            /// The name, as in files and reports.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }
    };
}

/// Gives an enum the list `ALL` of its values, their names by `as_str` and `Display`, and the way back by `FromStr`.
macro_rules! named {
    ($kind:ident { $($value:ident => $name:literal,)+ }) => {
        $crate::model::words!($kind { $($value => $name,)+ });

        impl $kind {
            /// All values, in their usual order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];
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

pub(crate) use {named, words};
