//! The client: everything that `airlock` does before, while and after a driver starts.

pub mod error;
pub mod memory;
pub mod names;
pub mod settings;
