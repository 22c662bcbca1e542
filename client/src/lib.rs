//! The client: everything that `airlock` does before, while and after a driver starts. (Each module's first lines say
//! what it does and what it leaves to others.)

#[cfg(test)]
extern crate self as client;

pub mod api_error;
pub mod back_off;
pub mod bundle_body;
pub mod bundle_source;
pub mod bundle_transfer;
pub mod certificates;
pub mod cleanup;
pub mod cli;
pub mod cluster;
pub mod compress;
pub mod dial;
pub mod door;
pub mod driver_log;
pub mod driver_objects;
pub mod driver_pod;
pub mod driver_watch;
pub mod duration;
pub mod error;
pub mod follow;
pub mod inputs;
pub mod inspected_input;
pub mod interrupt;
pub mod kube_access;
pub mod kubeconfig;
pub mod kubernetes_syntax;
pub mod launch;
pub mod launched;
pub mod master;
pub mod memory;
pub mod names;
pub mod patience;
pub mod phase_lines;
pub mod pod_state;
pub mod pod_watch;
pub mod preflight;
pub mod prepare;
pub mod progress;
pub mod reach;
pub mod redaction;
pub mod resolve;
pub mod retry_after;
pub mod rights;
pub mod run;
pub mod setting_keys;
pub mod settings;
pub mod spark_conf;
pub mod submit;
pub mod sweep;
pub mod transfer;
pub mod upload;

#[cfg(test)]
mod test_settings;
