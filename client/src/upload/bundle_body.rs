//! From files to a request body: one blocking thread reads and hashes, a few compress, and the socket takes what is
//! ready, in order. Every queue is bounded, so memory is the same for a kilobyte and for a terabyte.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_util::sync::CancellationToken;

use crate::error::SubmitError;
use crate::upload::bundle_source::{BundleSource, Piece};
use crate::upload::compress::{Encoder, Encoding};

/// Pieces read ahead of the compressors.
const READ_AHEAD: usize = 4;
/// Pieces compressed at the same time, or waiting for the socket.
const COMPRESS_AHEAD: usize = 4;

/// How far a body is. Shared with whoever shows progress or looks for a standstill.
#[derive(Debug, Default)]
pub struct Counters {
    /// Tar bytes handed to the connection, from the start of the bundle.
    pub tar: AtomicU64,
    /// Compressed bytes handed to the connection, over all attempts.
    pub wire: AtomicU64,
}

/// Starts reading at tar byte `offset`. The stream is the compressed body; the handle ends with the reader, and holds the
/// reason when an input failed. The reader ends early when the body is dropped, or when `stop` says so: a connection that
/// is stuck keeps its body.
pub fn bundle_body(
    source: Arc<BundleSource>,
    offset: u64,
    counters: Arc<Counters>,
    stop: CancellationToken,
) -> (impl Stream<Item = io::Result<Bytes>> + Send + 'static, JoinHandle<Result<(), SubmitError>>) {
    let (sender, receiver) = mpsc::channel::<Piece>(READ_AHEAD);
    // Read to the end, or until the body is dropped: the channel's end tells the reader, and the reader's the body.
    let (done, finished) = mpsc::channel::<()>(1);
    let reader = spawn_blocking(move || {
        let runtime = Handle::current();
        source.read(offset, &mut |piece| runtime.block_on(hand_over(&sender, piece, &stop)))?;
        let _ = done.blocking_send(());
        Ok(())
    });
    counters.tar.store(offset, Ordering::Relaxed);
    let encoder = Encoder::default();
    let pieces =
        stream::unfold(receiver, |mut receiver| async { receiver.recv().await.map(|piece| (piece, receiver)) });
    let members = pieces.map(move |piece| encode(encoder.clone(), piece)).buffered(COMPRESS_AHEAD);
    let counted = members.inspect(move |member| {
        if let Ok((len, bytes)) = member {
            counters.tar.fetch_add(*len, Ordering::Relaxed);
            counters.wire.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        }
    });
    let body = counted.map(|member| member.map(|(_, bytes)| bytes)).chain(proper_end(finished));
    (body, reader)
}

/// Whether the piece was taken.
async fn hand_over(sender: &mpsc::Sender<Piece>, piece: Piece, stop: &CancellationToken) -> bool {
    tokio::select! {
        sent = sender.send(piece) => sent.is_ok(),
        () = stop.cancelled() => false,
    }
}

/// Nothing when the reader came to the end; an error when it did not, so that the body is cut and not ended.
fn proper_end(mut finished: mpsc::Receiver<()>) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::once(async move { finished.recv().await }).filter_map(|end| async move {
        let cut = || io::Error::other("an input could not be read to its end");
        end.is_none().then(|| Err(cut()))
    })
}

async fn encode(encoder: Encoder, piece: Piece) -> io::Result<(u64, Bytes)> {
    let len = piece.bytes.len() as u64;
    // Storing is a copy; handing it to another thread would cost more.
    let member = if piece.encoding == Encoding::Stored {
        encoder.member(&piece.bytes, piece.encoding)
    } else {
        spawn_blocking(move || encoder.member(&piece.bytes, piece.encoding)).await.map_err(io::Error::other)?
    };
    Ok((len, Bytes::from_owner(member)))
}
