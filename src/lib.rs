#![doc = "placeholder"]
pub mod codec;
pub mod model;
pub mod store;
