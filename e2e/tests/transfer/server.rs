//! The real `airlock-driver` as a child process, with certificates that the client's own code has made.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use client::objects::driver_objects::ServerCertificates;
use client::settings::Candidate;
use client::upload::certificates::{ClientCredentials, issue};
use client::upload::reach::Dialer;
use e2e::environment;
use secrecy::ExposeSecret as _;
use tempfile::TempDir;
use time::OffsetDateTime;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::watch;

use crate::{SERVER_NAME, in_time};

/// A running driver server; killed when dropped.
pub(crate) struct DriverServer {
    pub(crate) address: SocketAddr,
    pub(crate) credentials: ClientCredentials,
    folder: TempDir,
    log: watch::Receiver<String>,
    child: Child,
}

/// Certificates for the driver server and its client, made at `now`.
pub(crate) fn certificates(now: OffsetDateTime) -> (ServerCertificates, ClientCredentials) {
    issue(SERVER_NAME, now, Duration::from_hours(24)).unwrap()
}

/// `addresses` as candidates, best first.
pub(crate) fn dialer(credentials: &ClientCredentials, addresses: &[SocketAddr]) -> Dialer {
    let candidate =
        |(index, address): (usize, &SocketAddr)| Candidate { address: *address, origin: format!("n{index}") };
    Dialer::new(addresses.iter().enumerate().map(candidate).collect(), credentials.clone()).unwrap()
}

impl DriverServer {
    /// On loopback, with certificates of now.
    pub(crate) async fn start() -> Self {
        Self::start_with("127.0.0.1:0", OffsetDateTime::now_utc(), &[]).await
    }

    /// At `listen`, with certificates made at `now`.
    pub(crate) async fn start_with(listen: &str, now: OffsetDateTime, arguments: &[&str]) -> Self {
        let binary = environment::binary("airlock-driver");
        Self::run(listen, now, arguments, |_| Command::new(binary)).await
    }

    /// On a disk of its own with `bytes` bytes.
    pub(crate) async fn start_on_disk(bytes: u64) -> Self {
        let binary = environment::binary("airlock-driver");
        let in_mount = |directory: &Path| {
            let mut command = Command::new("unshare");
            if fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) != 0) {
                command.args(["--user", "--map-root-user"]);
            }
            let script = format!(r#"mount -t tmpfs -o size={bytes} tmpfs "$0" && exec "$@""#);
            command.args(["--mount", "sh", "-c", &script]).arg(directory).arg(binary);
            command
        };
        Self::run("127.0.0.1:0", OffsetDateTime::now_utc(), &[], in_mount).await
    }

    async fn run(
        listen: &str,
        now: OffsetDateTime,
        arguments: &[&str],
        command: impl FnOnce(&Path) -> Command,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (server, credentials) = certificates(now);
        let path = |name: &str| folder.path().join(name);
        write_certificates(&server, &path("tls"));
        fs::create_dir(path("airlock")).unwrap();
        fs::write(path("termination-log"), "").unwrap();
        let script = format!("#!/bin/sh\necho launched >> '{}'\n", path("launches").display());
        fs::write(path("entry-point"), script).unwrap();
        fs::set_permissions(path("entry-point"), fs::Permissions::from_mode(0o755)).unwrap();
        let option = |name: &str, value: &str| format!("--{name}={}", path(value).display());
        let mut child = command(&path("airlock"))
            .args([option("directory", "airlock"), option("tls-directory", "tls")])
            .args([option("entry-point", "entry-point"), option("termination-log", "termination-log")])
            .arg(format!("--listen={listen}"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let log = collect(child.stderr.take().unwrap());
        let mut server = Self { address: SocketAddr::from(([127, 0, 0, 1], 0)), credentials, folder, log, child };
        let line = server.log_line("listening at ").await;
        server.address = line.rsplit(' ').next().unwrap().parse().unwrap();
        server
    }

    /// The log's first line with `part` in it, once it is there.
    pub(crate) async fn log_line(&mut self, part: &str) -> String {
        let found = in_time(self.log.wait_for(|log| log.lines().any(|line| line.contains(part)))).await;
        let Ok(log) = found.map(|log| log.clone()) else { panic!("no {part:?} in:\n{}", self.log()) };
        log.lines().find(|line| line.contains(part)).unwrap().to_owned()
    }

    /// All that it has logged.
    pub(crate) fn log(&self) -> String {
        self.log.borrow().clone()
    }

    /// A dialer that knows only the server's own address.
    pub(crate) fn dialer(&self) -> Dialer {
        dialer(&self.credentials, &[self.address])
    }

    /// A path in the server's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The directory that it writes to, as it sees it.
    pub(crate) fn own_directory(&self) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.child.id().unwrap()));
        root.join(self.path("airlock").strip_prefix("/").unwrap())
    }

    /// How often the entry point has been started so far.
    pub(crate) fn launches(&self) -> usize {
        fs::read_to_string(self.path("launches")).map_or(0, |text| text.lines().count())
    }

    /// Waits for the end of the process, and of the driver that it became.
    pub(crate) async fn ended(&mut self) {
        in_time(self.child.wait()).await.unwrap();
    }
}

/// Writes what the Secret holds.
pub(crate) fn write_certificates(certificates: &ServerCertificates, folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("ca.crt"), &certificates.ca_pem).unwrap();
    fs::write(folder.join("tls.crt"), &certificates.certificate_pem).unwrap();
    fs::write(folder.join("tls.key"), certificates.key_pem.expose_secret()).unwrap();
}

fn collect(stderr: ChildStderr) -> watch::Receiver<String> {
    let (sender, receiver) = watch::channel(String::new());
    tokio::spawn(async move {
        let mut lines = BufReader::new(stderr).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            sender.send_modify(|log| {
                log.push_str(&line);
                log.push('\n');
            });
        }
    });
    receiver
}
