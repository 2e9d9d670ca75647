#![doc = "placeholder"]
pub mod codec;
pub mod host;
pub mod model;
