//! A read buffer under TLS. rustls asks its transport for 4 KiB at a time, one system call each; this asks the kernel for
//! as much as there is. Until a peer is authenticated the buffer is small, so that strangers cost little memory.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Size in bytes of the buffer for a peer that is not authenticated yet.
const SMALL: usize = 4 * 1024;
/// Size in bytes of the buffer afterwards.
const LARGE: usize = 1024 * 1024;

/// A stream whose reads are buffered.
#[derive(Debug)]
pub struct ReadAhead<S> {
    stream: S,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

impl<S> ReadAhead<S> {
    /// Wraps `stream` with a small buffer.
    pub fn new(stream: S) -> Self {
        Self { stream, buffer: vec![0; SMALL].into_boxed_slice(), start: 0, end: 0 }
    }

    /// Makes the buffer large.
    pub fn enlarge(&mut self) {
        let mut larger = vec![0; LARGE].into_boxed_slice();
        let kept = self.end - self.start;
        larger[..kept].copy_from_slice(&self.buffer[self.start..self.end]);
        (self.buffer, self.start, self.end) = (larger, 0, kept);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ReadAhead<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.start == this.end {
            let mut target = ReadBuf::new(&mut this.buffer);
            ready!(Pin::new(&mut this.stream).poll_read(cx, &mut target))?;
            (this.start, this.end) = (0, target.filled().len());
        }
        let take = out.remaining().min(this.end - this.start);
        out.put_slice(&this.buffer[this.start..this.start + take]);
        this.start += take;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ReadAhead<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt as _;

    #[tokio::test]
    async fn enlarging_loses_nothing() {
        let bytes: Vec<u8> = (0..20_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut stream = ReadAhead::new(bytes.as_slice());
        let mut read = vec![0; 1000];
        stream.read_exact(&mut read).await.unwrap();
        stream.enlarge();
        stream.read_to_end(&mut read).await.unwrap();
        assert!(read == bytes);
    }
}
