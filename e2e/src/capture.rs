//! Packets of this machine, as an onlooker between submitter and nodes sees them: written by tcpdump to a file, then
//! searched as plain bytes.

use std::path::PathBuf;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// A capture that runs until it is stopped.
pub struct Capture {
    tcpdump: Child,
    file: PathBuf,
    _folder: tempfile::TempDir,
}

impl Capture {
    /// Captures TCP on `ports`, on every interface, whole packets. Needs root and tcpdump.
    pub async fn start(ports: &[u16]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("packets.pcap");
        let mut tcpdump = Command::new("tcpdump")
            .args(["--interface", "any", "--immediate-mode", "--packet-buffered", "-Z", "root", "-w"])
            .arg(&file)
            .args(["--buffer-size", "65536"])
            .arg(ports.iter().map(|port| format!("tcp port {port}")).collect::<Vec<_>>().join(" or "))
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("tcpdump is installed: scripts/test does that");
        let mut lines = BufReader::new(tcpdump.stderr.take().expect("piped")).lines();
        while let Some(line) = lines.next_line().await.expect("tcpdump's output can be read") {
            if line.contains("listening on") {
                return Self { tcpdump, file, _folder: folder };
            }
        }
        panic!("tcpdump ended before it listened");
    }

    /// Ends the capture and returns its bytes.
    pub async fn stop(mut self) -> Vec<u8> {
        let id = self.tcpdump.id().expect("tcpdump still runs");
        let interrupted = Command::new("kill").args(["-INT", &id.to_string()]).status().await;
        assert!(interrupted.expect("kill can be run").success());
        self.tcpdump.wait().await.expect("tcpdump ends");
        tokio::fs::read(&self.file).await.expect("the capture can be read")
    }
}

/// Whether `needle` occurs in `haystack`.
#[must_use]
pub fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}
