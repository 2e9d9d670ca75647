#![doc = "placeholder"]
pub mod catalog;
pub mod codec;
pub mod machine;
pub mod model;
