//! HTTP: the four requests of the wire, and refusals that arrive whatever the client is doing.

pub mod handlers;
pub mod manifest_body;
pub mod problem;
