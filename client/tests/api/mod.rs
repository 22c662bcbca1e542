//! A scripted API server: enough of Kubernetes for one submission, over plain HTTP on loopback. It records every call,
//! and a script says which of them go wrong, and how: refused before or failed after they were carried out, answered too
//! late, cut off. What a real server cannot be told to do is done here; what it does by itself is tested elsewhere.

mod faults;
mod objects;
mod serve;
mod transfer;
mod watches;

pub(crate) use faults::{Fault, Rule};
pub(crate) use objects::{GONE, status};
pub(crate) use serve::{ApiServer, Call};
pub(crate) use transfer::{FakeTransfer, Step};
