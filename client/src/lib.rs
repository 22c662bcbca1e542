//! The client: everything that `airlock` does before, while and after a driver starts.

pub mod cli;
pub mod duration;
pub mod error;
pub mod inputs;
pub mod kubernetes_syntax;
pub mod launch;
pub mod master;
pub mod memory;
pub mod names;
pub mod prepare;
pub mod redaction;
pub mod resolve;
pub mod setting_keys;
pub mod settings;
pub mod spark_conf;
