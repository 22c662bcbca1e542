//! Buffers that come back. The allocator returns each large one to the kernel when it is freed, and clearing its pages anew
//! for every piece took a quarter of an upload's CPU time. There are never more than were in use at one time.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

/// The buffers that nobody uses at the moment. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

/// A vector that goes back to its buffers when it is dropped.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    home: Buffers,
}

impl Buffers {
    /// A buffer with whatever its last user left in it; a new one is empty.
    #[must_use]
    pub fn take(&self) -> Buffer {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        Buffer { bytes, home: self.clone() }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        self.home.0.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    }
}

impl Deref for Buffer {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_buffer_is_the_next_one() {
        let buffers = Buffers::default();
        let (first, second) = (buffers.take(), buffers.take());
        drop(second);
        let mut again = buffers.take();
        again.extend([1, 2]);
        let place = again.as_ptr();
        drop((first, again));
        assert_eq!(buffers.take().as_ptr(), place);
        assert_eq!(buffers.0.lock().unwrap().len(), 2);
    }
}
