//! The driver pod seen from here: what its status means, waiting until its server is up, whether it was launched, and
//! following it to its end.

pub mod attend;
pub mod driver_container;
pub mod driver_log;
pub mod driver_watch;
pub mod follow;
pub mod init_containers;
pub mod launched;
pub mod phase_lines;
pub mod pod_state;
pub mod pod_watch;
