//! The objects that a submission creates, as pure functions of settings, names and a moment: comparing them with upstream's
//! needs no cluster. Creating them is `submit`'s matter.

pub mod driver_injection;
pub mod driver_objects;
pub mod driver_pod;
pub mod driver_template;
pub mod driver_tmp;
pub mod driver_volumes;
pub mod mounted_objects;
pub mod network_policy;
