//! The real binary as a child process, with certificates of its own, and clients for it. Every wait has a deadline.
#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed helper fails its test")]

pub(crate) mod bundle;
pub(crate) mod certificates;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::{Client, Method, RequestBuilder, Response};
use shared::manifest::Manifest;
use shared::protocol::{
    BUNDLE_PATH, LAUNCH_PATH, Problem, SUBMISSION_PATH, SubmissionState, SubmissionStatus, TAR_TYPE, UPLOAD_OFFSET,
};
use tempfile::TempDir;

use bundle::Bundle;
use certificates::Certificates;

/// No wait of a test is longer, unless it says so.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// What the driver prints about itself: all that it could have inherited. The signals are those of `grep`, which has them
/// from the shell: the shell itself blocks all of them for the moment in which it starts something.
const ENTRY_POINT: &str = r#"#!/bin/sh
printf 'argc=%s\n' "$#"
for argument in "$@"; do printf 'arg=[%s]\n' "$argument"; done
printf 'cwd=%s\n' "$(pwd -P)"
printf 'umask=%s\n' "$(umask)"
grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status
ls -l /proc/$$/fd | sed -n 's/.* \([0-9]*\) -> \(.*\)/fd=\1 \2/p'
printf 'environment=%s\n' "$(tr '\0' '\n' </proc/$$/environ | cut -d= -f1 | sort | tr '\n' ' ')"
if [ -f run.sh ]; then . ./run.sh; fi
exit 0
"#;

/// A running driver server.
pub(crate) struct Server {
    pub(crate) temporary: TempDir,
    pub(crate) certificates: Certificates,
    pub(crate) address: SocketAddr,
    child: Child,
    log: mpsc::Receiver<String>,
    pub(crate) seen: String,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), arguments, |command| command)
    }

    /// Starts below `temporary`, with the command as `change` leaves it, and waits until it listens.
    pub(crate) fn start_in(
        temporary: TempDir,
        arguments: &[&str],
        change: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Self {
        let certificates = prepare(temporary.path());
        let mut command = command(temporary.path());
        let child = change(command.args(arguments)).spawn().unwrap();
        let mut server = Self::of(temporary, certificates, child);
        let line = server.wait_for_line("listening at ");
        server.address = line.rsplit(' ').next().unwrap().parse().unwrap();
        server
    }

    fn of(temporary: TempDir, certificates: Certificates, mut child: Child) -> Self {
        let (sender, log) = mpsc::sync_channel(10_000);
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { temporary, certificates, address: ([127, 0, 0, 1], 0).into(), child, log, seen: String::new() }
    }

    pub(crate) fn wait_for_line(&mut self, part: &str) -> String {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.log.recv_timeout(left).unwrap_or_else(|_| panic!("no line {part:?} in:\n{}", self.seen));
            self.seen.push_str(&line);
            self.seen.push('\n');
            if line.contains(part) {
                return line;
            }
        }
    }

    /// Waits for the end of the process: its status, its stdout, its stderr.
    pub(crate) fn wait(mut self) -> Ended {
        let status = self.wait_for_exit(DEADLINE);
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        while let Ok(line) = self.log.recv_timeout(DEADLINE) {
            self.seen.push_str(&line);
            self.seen.push('\n');
        }
        let termination = fs::read_to_string(self.path("termination-log")).unwrap();
        Ended { status, stdout, log: std::mem::take(&mut self.seen), termination, _server: self }
    }

    fn wait_for_exit(&mut self, limit: Duration) -> ExitStatus {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the server is still running:\n{}", self.seen);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.temporary.path().join(path)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([format!("-{name}"), self.pid().to_string()]).status().unwrap().success());
    }

    /// Most memory in KiB that the process has had.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn client(&self) -> TestClient {
        TestClient { client: self.certificates.client(self.address), address: self.address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is left of a server.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) log: String,
    pub(crate) termination: String,
    _server: Server,
}

impl Ended {
    /// The status, as a shell sees it.
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("{}\n{}", self.status, self.log))
    }
}

/// What a server needs below `root`: entry point, certificates, directory, termination log.
pub(crate) fn prepare(root: &Path) -> Certificates {
    let certificates = Certificates::new();
    fs::create_dir_all(root.join("tls")).unwrap();
    certificates.write(&root.join("tls"));
    fs::create_dir_all(root.join("airlock")).unwrap();
    fs::write(root.join("termination-log"), "").unwrap();
    fs::write(root.join("entry point.sh"), ENTRY_POINT).unwrap();
    fs::set_permissions(root.join("entry point.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    certificates
}

/// The server's command line below `root`.
pub(crate) fn command(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_airlock-driver"));
    let option = |name: &str, path: &str| format!("--{name}={}", root.join(path).display());
    command
        .args([option("directory", "airlock"), option("tls-directory", "tls"), option("entry-point", "entry point.sh")])
        .args([option("termination-log", "termination-log"), "--listen=127.0.0.1:0".into()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs a server that is expected to end by itself at once.
pub(crate) fn run_to_end(temporary: TempDir, certificates: Certificates) -> Ended {
    let child = command(temporary.path()).spawn().unwrap();
    Server::of(temporary, certificates, child).wait()
}

/// A client with the right certificate.
#[derive(Clone)]
pub(crate) struct TestClient {
    client: Client,
    address: SocketAddr,
}

/// What is expected of an answer.
pub(crate) type Answer = Result<SubmissionStatus, Problem>;

impl TestClient {
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("https://{}:{}{path}", certificates::SERVER_NAME, self.address.port());
        self.client.request(method, url).timeout(DEADLINE)
    }

    pub(crate) async fn put(&self, manifest: &Manifest) -> Answer {
        answer(self.request(Method::PUT, SUBMISSION_PATH).json(manifest).send().await.unwrap()).await
    }

    pub(crate) async fn get(&self) -> Answer {
        answer(self.request(Method::GET, SUBMISSION_PATH).send().await.unwrap()).await
    }

    pub(crate) fn patch_request(&self, offset: u64) -> RequestBuilder {
        self.request(Method::PATCH, BUNDLE_PATH)
            .header(UPLOAD_OFFSET, offset)
            .header("content-type", TAR_TYPE)
            .header("content-encoding", "gzip")
    }

    pub(crate) async fn patch(&self, offset: u64, body: impl Into<reqwest::Body>) -> Answer {
        answer(self.patch_request(offset).body(body).send().await.unwrap()).await
    }

    pub(crate) async fn launch(&self) -> Answer {
        answer(self.request(Method::POST, LAUNCH_PATH).send().await.unwrap()).await
    }

    /// Sends the whole of `bundle`.
    pub(crate) async fn upload(&self, bundle: &Bundle) -> SubmissionStatus {
        // Made first: while the thread is busy with it, the client cannot see that an idle connection was closed.
        let sent = bundle.gzip();
        self.put(&bundle.manifest).await.unwrap();
        let status = self.patch(0, sent).await.unwrap();
        assert_eq!(status.state, SubmissionState::Verified);
        status
    }

    /// Asks for the state until it is as wanted.
    pub(crate) async fn wait_for(&self, wanted: impl Fn(&SubmissionStatus) -> bool) -> SubmissionStatus {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let status = self.get().await.unwrap();
            if wanted(&status) {
                return status;
            }
            assert!(Instant::now() < deadline, "still {status:?}");
        }
    }
}

/// An answer of ours, which must be well formed either way.
pub(crate) async fn answer(response: Response) -> Answer {
    let status = response.status();
    let kind = response.headers()["content-type"].clone();
    let text = response.text().await.unwrap();
    if status.is_success() {
        return Ok(serde_json::from_str(&text).unwrap());
    }
    assert_eq!(kind, "application/problem+json");
    let problem: Problem = serde_json::from_str(&text).unwrap();
    assert_eq!(problem.status, status.as_u16());
    Err(problem)
}

/// The status and code of a refusal.
pub(crate) fn refused(answer: Answer) -> (u16, String) {
    let problem = answer.expect_err("a refusal");
    (problem.status, problem.code)
}

/// A request body that the test feeds by hand.
pub(crate) fn hand_fed() -> (tokio::sync::mpsc::Sender<Result<Bytes, std::io::Error>>, reqwest::Body) {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
    let stream = futures::stream::poll_fn(move |cx| receiver.poll_recv(cx));
    (sender, reqwest::Body::wrap_stream(stream))
}
