//! What the client and the driver server must agree on, and nothing else: a file is here only if both binaries compile
//! it, or if it holds the one truth about a format that one side writes and the other reads.
//!
//! | module | holds |
//! |---|---|
//! | [`error_code`] | the stable `E_…` codes and the exit status of each |
//! | [`manifest`] | the list of what a submission sends, and what is launched with it |
//! | [`bundle`] | the tar stream as a pure function of the manifest: every byte's place |
//! | [`protocol`] | requests and replies on the wire |
//! | [`driver_contract`] | ports, paths and arguments that the pod sets and the driver server reads |
//! | [`java_properties`] | the syntax of `java.util.Properties`, read and written |
//! | [`tls`] | the one crypto provider and the one protocol version |
//! | [`report`] | how an error, its causes and its hints are shown |

pub mod bundle;
pub mod driver_contract;
pub mod error_code;
pub mod java_properties;
pub mod manifest;
pub mod protocol;
pub mod report;
pub mod tls;
