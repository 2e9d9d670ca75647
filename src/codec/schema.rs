use crate::codec::Place;
/// stub
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub pointer: String,
    pub message: String,
    pub place: Option<Place>,
}
