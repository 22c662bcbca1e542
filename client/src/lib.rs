//! The client: everything that `airlock` does before, while and after a driver starts.
//!
//! `run` goes from the command line to the exit status; `submit` is the submission itself, a list of steps. Each step is a
//! module or a folder, in the order of the work:
//!
//! | step | where |
//! |---|---|
//! | resolve flags, files and defaults into checked settings | [`settings`] |
//! | inspect the local inputs | [`inputs`] |
//! | what Spark is told in the pod | [`launch`] |
//! | reach the API server, call it, and call again | [`cluster`] |
//! | what would be made, for `--dry-run` | [`dry_run`] |
//! | one list of problems before anything is made | [`preflight`] |
//! | pod, Services and Secret, purely | [`objects`] |
//! | wait for the driver server; follow the driver | [`driver`] |
//! | the door and the addresses behind it | [`door`] |
//! | certificates, bundle, dialling, upload | [`upload`] |
//! | submit at most once for a key | [`resubmission`] |
//! | what users do with a driver later: kill, status, list, logs, attach | [`commands`] |
//! | take away what was made, and what others left | [`cleanup`], [`sweep`] |

#[cfg(test)]
extern crate self as client;

pub mod cleanup;
pub mod cluster;
pub mod commands;
pub mod door;
pub mod driver;
pub mod dry_run;
pub mod error;
pub mod inputs;
pub mod interrupt;
pub mod launch;
pub mod mounted;
pub mod multi_call;
pub mod objects;
pub mod preflight;
pub mod progress;
pub mod resubmission;
pub mod run;
pub mod settings;
pub mod submit;
pub mod sweep;
pub mod upload;

#[cfg(test)]
mod test_settings;
