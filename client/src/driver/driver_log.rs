//! The driver's log on stdout, line by line, however often its stream ends: rotation, a restarted API server and idle cuts
//! end streams while the driver runs on. Each line comes with its time, so a new stream goes on where the last one
//! ended: no line twice, none left out that the kubelet still has. The end of the driver is told by its pod, not here.

use std::io::Write;
use std::time::Duration;

use futures::io::{AsyncBufRead, AsyncBufReadExt};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::LogParams;
use tokio::time::{sleep, timeout};

use crate::cluster::Cluster;
use crate::cluster::back_off::BackOff;
use crate::objects::driver_pod::DRIVER_CONTAINER;

/// For the last lines, once the driver has ended.
const LAST_LINES_LIMIT: Duration = Duration::from_secs(10);

/// The log of one driver, and how much of it has been shown.
pub struct DriverLog<'a, W> {
    cluster: &'a Cluster,
    pod: &'a str,
    output: W,
    /// Time of the last line shown, and how many lines of that time.
    shown: Option<(Timestamp, usize)>,
}

impl<'a, W: Write> DriverLog<'a, W> {
    /// The log of `pod`, shown on `output`.
    pub const fn new(cluster: &'a Cluster, pod: &'a str, output: W) -> Self {
        Self { cluster, pod, output, shown: None }
    }

    /// Shows lines as they come, for ever. Loses none when dropped half-way through a line.
    pub async fn follow(&mut self) {
        let mut back_off = BackOff::new(Duration::MAX);
        loop {
            let before = self.shown;
            self.stream(true).await;
            if self.shown != before {
                back_off.reset();
            }
            sleep(back_off.next_delay(None)).await;
        }
    }

    /// Shows what has come since, to the end.
    pub async fn finish(&mut self) {
        // Without the last lines the exit code is still right, so a limit is all that is needed.
        let _ = timeout(LAST_LINES_LIMIT, self.stream(false)).await;
    }

    async fn stream(&mut self, follow: bool) {
        let parameters = LogParams {
            container: Some(DRIVER_CONTAINER.to_owned()),
            follow,
            since_time: self.shown.map(|(time, _)| time),
            timestamps: true,
            ..LogParams::default()
        };
        let api = self.cluster.api::<Pod>();
        let opened = timeout(self.cluster.request_timeout(), api.log_stream(self.pod, &parameters)).await;
        if let Ok(Ok(lines)) = opened {
            self.copy(Box::pin(lines)).await;
        }
    }

    /// Copies whole lines until the stream ends; half a line at its end comes again, whole, with the next stream.
    async fn copy(&mut self, mut lines: impl AsyncBufRead + Unpin) {
        let (mut line, mut at_that_time) = (Vec::new(), (Timestamp::MIN, 0));
        while let Ok(read) = lines.read_until(b'\n', &mut line).await {
            if read == 0 || line.last() != Some(&b'\n') {
                return;
            }
            if let Some((time, text)) = split_time(&line) {
                at_that_time = if at_that_time.0 == time { (time, at_that_time.1 + 1) } else { (time, 1) };
                if self.shown.is_none_or(|shown| at_that_time > shown) {
                    // Whoever closed stdout does not want the log; the driver goes on.
                    let _ = self.output.write_all(text).and_then(|()| self.output.flush());
                    self.shown = Some(at_that_time);
                }
            }
            line.clear();
        }
    }
}

/// `2026-01-01T00:00:00.000000001Z text` apart.
fn split_time(line: &[u8]) -> Option<(Timestamp, &[u8])> {
    let blank = line.iter().position(|byte| *byte == b' ')?;
    let time = std::str::from_utf8(&line[..blank]).ok()?.parse().ok()?;
    Some((time, &line[blank + 1..]))
}
