//! Sockets: who gets in, how far, and what strangers may cost. Nothing here knows what a request means.

pub mod admission;
pub mod connection;
pub mod listen;
pub mod log_budget;
pub mod read_ahead;
pub mod server;
pub mod tls;
