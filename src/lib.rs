#![doc = "placeholder"]
pub mod codec;
pub mod machine;
pub mod model;
pub mod store;
