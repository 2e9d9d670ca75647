//! The size of a box in a diagram.

/// A box without a place.
pub(super) struct Shape {
    pub(super) width: f64,
    pub(super) height: f64,
    /// Whether lines end at a circle.
    pub(super) is_round: bool,
}
