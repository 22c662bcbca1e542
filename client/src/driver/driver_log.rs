//! The driver's log on stdout, line by line, however often its stream ends: rotation, a restarted API server and idle cuts
//! end streams while the driver runs on. Each line comes with its time, so a new stream goes on where the last one
//! ended: no line twice, none left out that the kubelet still has. The end of the driver is told by its pod, not here.

use std::io::Write;
use std::time::Duration;

use futures::io::{AsyncBufRead, AsyncBufReadExt};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::LogParams;
use shared::error_code::ErrorCode;
use tokio::time::{sleep, timeout};

use crate::cluster::Cluster;
use crate::cluster::back_off::BackOff;
use crate::error::SubmitError;

/// For the last lines, once the driver has ended.
const LAST_LINES_LIMIT: Duration = Duration::from_secs(10);

/// The log of one driver, and how much of it has been shown.
pub struct DriverLog<'a, W> {
    cluster: &'a Cluster,
    pod: &'a str,
    container: &'a str,
    output: W,
    /// Time of the last line shown, and how many lines of that time.
    shown: Option<(Timestamp, usize)>,
    /// Whether nobody reads the output any more.
    closed: bool,
}

/// What becomes of half a line at the end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HalfLine {
    /// It comes again, whole, with the next stream.
    Later,
    /// Nothing comes after it.
    Last,
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// As the API server meant it to.
    Whole,
    /// Anyhow.
    Cut,
}

impl<'a, W: Write> DriverLog<'a, W> {
    /// The log of `container` in `pod`, shown on `output`.
    pub const fn new(cluster: &'a Cluster, pod: &'a str, container: &'a str, output: W) -> Self {
        Self { cluster, pod, container, output, shown: None, closed: false }
    }

    /// Shows lines as they come, until nobody reads them. Loses none when dropped half-way through a line.
    pub async fn follow(&mut self) {
        let mut back_off = BackOff::new(Duration::MAX);
        while !self.closed {
            let before = self.shown;
            self.stream(true, HalfLine::Later).await;
            if self.shown != before {
                back_off.reset();
            }
            sleep(back_off.next_delay(None)).await;
        }
    }

    /// Shows what has come since, to the end.
    pub async fn finish(&mut self) {
        // Without the last lines the exit code is still right, so a limit is all that is needed.
        let _ = timeout(LAST_LINES_LIMIT, self.stream(false, HalfLine::Last)).await;
    }

    /// Shows what there is, all of it, or says why that cannot be had. `limit` is for tries that bring nothing new.
    pub async fn show(&mut self, half_line: HalfLine, limit: Duration) -> Result<(), SubmitError> {
        let mut back_off = BackOff::new(limit);
        loop {
            let (before, parameters) = (self.shown, self.parameters(false));
            let lines = self.cluster.open_log(self.pod, &parameters).await?;
            if self.copy(Box::pin(lines), half_line).await == End::Whole || self.closed {
                return Ok(());
            }
            if self.shown != before {
                back_off.reset();
            }
            if !back_off.pause(None).await {
                let what = format!("the log of {} breaks off again and again", self.cluster.what::<Pod>(self.pod));
                return Err(SubmitError::new(ErrorCode::ApiTimeout, what));
            }
        }
    }

    async fn stream(&mut self, follow: bool, half_line: HalfLine) {
        let (api, parameters) = (self.cluster.api::<Pod>(), self.parameters(follow));
        let opened = timeout(self.cluster.request_timeout(), api.log_stream(self.pod, &parameters)).await;
        if let Ok(Ok(lines)) = opened {
            self.copy(Box::pin(lines), half_line).await;
        }
    }

    fn parameters(&self, follow: bool) -> LogParams {
        LogParams {
            container: Some(self.container.to_owned()),
            follow,
            since_time: self.shown.map(|(time, _)| time),
            timestamps: true,
            ..LogParams::default()
        }
    }

    /// Copies lines until the stream ends.
    async fn copy(&mut self, mut lines: impl AsyncBufRead + Unpin, half_line: HalfLine) -> End {
        let (mut line, mut at_that_time) = (Vec::new(), (Timestamp::MIN, 0));
        while let Ok(read) = lines.read_until(b'\n', &mut line).await {
            let is_whole = line.last() == Some(&b'\n');
            if read == 0 || (!is_whole && half_line == HalfLine::Later) {
                return End::Whole;
            }
            if let Some((time, text)) = split_time(&line) {
                at_that_time = if at_that_time.0 == time { (time, at_that_time.1 + 1) } else { (time, 1) };
                if self.shown.is_none_or(|shown| at_that_time > shown) {
                    self.closed = self.output.write_all(text).and_then(|()| self.output.flush()).is_err();
                    self.shown = Some(at_that_time);
                }
            }
            if self.closed {
                return End::Cut;
            }
            line.clear();
        }
        End::Cut
    }
}

/// `2026-01-01T00:00:00.000000001Z text` apart.
fn split_time(line: &[u8]) -> Option<(Timestamp, &[u8])> {
    let blank = line.iter().position(|byte| *byte == b' ')?;
    let time = std::str::from_utf8(&line[..blank]).ok()?.parse().ok()?;
    Some((time, &line[blank + 1..]))
}
