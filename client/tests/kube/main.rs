//! The client's cluster half against a scripted API server: never two pods, never an orphan, whatever goes wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests say what they expect")]

#[path = "../api/mod.rs"]
mod api;
mod calls;
mod command_lines;
mod commands;
mod credentials;
mod mounted;
mod pods;
mod resubmissions;
mod submissions;
#[path = "../../src/test_settings.rs"]
mod test_settings;
mod upstream_control;
mod watching;
