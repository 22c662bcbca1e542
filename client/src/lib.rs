//! The client: everything that `airlock` does before, while and after a driver starts.

pub mod bundle_body;
pub mod bundle_source;
pub mod certificates;
pub mod cli;
pub mod compress;
pub mod dial;
pub mod duration;
pub mod error;
pub mod inputs;
pub mod inspected_input;
pub mod kubernetes_syntax;
pub mod launch;
pub mod master;
pub mod memory;
pub mod names;
pub mod prepare;
pub mod reach;
pub mod redaction;
pub mod resolve;
pub mod setting_keys;
pub mod settings;
pub mod spark_conf;
pub mod upload;
