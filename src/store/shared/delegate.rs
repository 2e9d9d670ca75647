//! Methods of a trait that another value answers.

/// Methods that are those of the value in `$field`, which has them under the same names.
macro_rules! answered_by {
    ($field:ident: $(fn $name:ident(&self $(, $given:ident: $kind:ty)*) -> $answer:ty;)*) => {
        $(fn $name(&self $(, $given: $kind)*) -> $answer { self.$field.$name($($given),*) })*
    };
}

pub(super) use answered_by;
