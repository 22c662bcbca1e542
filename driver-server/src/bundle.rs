//! From compressed bytes to proved files in the staging directory. Nothing here knows of sockets or HTTP.

mod gzip_header;
pub mod inflate;
pub mod received;
pub mod staging;
pub mod sums;
mod tar_header;
pub mod unpack;
#[cfg(test)]
mod unpack_tests;
