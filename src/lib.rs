#![doc = "placeholder"]
pub mod catalog;
pub mod codec;
pub mod machine;
pub mod host;
pub mod model;
pub mod store;
