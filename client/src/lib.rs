//! The submit side.
pub mod bundle_body;
pub mod bundle_source;
pub mod certificates;
pub mod compress;
pub mod dial;
pub mod error;
pub mod inspected_input;
pub mod reach;
pub mod upload;
