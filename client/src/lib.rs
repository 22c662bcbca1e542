//! The client: `airlock submit` and what it needs. (Map of the crate: see each module's first lines.)

#[cfg(test)]
extern crate self as client;

pub mod api_error;
pub mod back_off;
pub mod cleanup;
pub mod cluster;
pub mod door;
pub mod driver_objects;
pub mod driver_pod;
pub mod driver_watch;
pub mod error;
pub mod follow;
pub mod interrupt;
pub mod kube_access;
pub mod kubeconfig;
pub mod launched;
pub mod memory;
pub mod names;
pub mod phase_lines;
pub mod pod_state;
pub mod pod_watch;
pub mod preflight;
pub mod progress;
pub mod retry_after;
pub mod rights;
pub mod settings;
pub mod submit;
pub mod sweep;
pub mod transfer;

#[cfg(test)]
mod test_settings;
