//! One upload for `scripts/bench`: the client's own code against a real `airlock-driver` process on loopback, timed from the
//! first dial to "verified", then launched so that the server ends as it does in a pod. What it is compared with, how often,
//! and the tables are the script's matter. Prints one line of JSON.
//!
//! usage: airlock-bench-transfer AIRLOCK-DRIVER DIRECTORY FILE…
//!   DIRECTORY must be empty or missing; the bundle is left in it

use std::error::Error;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use client::inputs::inspected_input::InspectedInput;
use client::settings::Candidate;
use client::upload::bundle_source::BundleSource;
use client::upload::certificates::{self, ClientCredentials};
use client::upload::reach::Dialer;
use client::upload::{self, Upload, UploadReport};
use secrecy::ExposeSecret as _;
use serde_json::json;
use shared::driver_contract::{ARG_ENTRY_POINT, TLS_CA, TLS_CERTIFICATE, TLS_KEY};
use shared::manifest::{Launch, Manifest, MemberKind};
use time::OffsetDateTime;

type AnyError = Box<dyn Error + Send + Sync>;

const SERVER_NAME: &str = "bench-0123456789abcdef-driver-svc.default.svc";
/// What the server becomes: something that ends at once.
const ENTRY_POINT: &str = "/bin/true";
const CERTIFICATE_LIFETIME: Duration = Duration::from_hours(1);
const REACH_LIMIT: Duration = Duration::from_secs(10);
const IDLE_LIMIT: Duration = Duration::from_secs(30);
/// Most lines of the server's log before the one that names its address.
const LOG_LINES_LIMIT: usize = 20;

fn main() -> ExitCode {
    shared::tls::install_crypto_provider();
    match arguments().and_then(|arguments| bench(&arguments)) {
        Ok(line) => {
            // Nobody is left to tell when the reader is gone.
            let _ = writeln!(std::io::stdout(), "{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "airlock-bench-transfer: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Arguments {
    server: PathBuf,
    directory: PathBuf,
    files: Vec<PathBuf>,
}

fn arguments() -> Result<Arguments, AnyError> {
    let mut words = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(server), Some(directory)) = (words.next(), words.next()) else {
        return Err("usage: airlock-bench-transfer AIRLOCK-DRIVER DIRECTORY FILE…".into());
    };
    Ok(Arguments { server, directory, files: words.collect() })
}

/// The same runtime as the CLI's.
fn bench(arguments: &Arguments) -> Result<serde_json::Value, AnyError> {
    let inputs = arguments.files.iter().map(|path| inspect(path)).collect::<Result<Vec<_>, _>>()?;
    let credentials = write_certificates(&arguments.directory.join("tls"))?;
    let mut server = Server::start(&arguments.server, &arguments.directory)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(transfer(inputs, credentials, &server));
    if result.is_err() {
        server.process.kill()?;
    }
    let ended = server.process.wait()?;
    let line = result?;
    if ended.success() { Ok(line) } else { Err(format!("the server ended with {ended}").into()) }
}

async fn transfer(
    inputs: Vec<InspectedInput>,
    credentials: ClientCredentials,
    server: &Server,
) -> Result<serde_json::Value, AnyError> {
    let manifest = Manifest::new(inputs.iter().map(|input| input.member.clone()).collect(), what_to_launch())?;
    let payload = manifest.payload_bytes();
    let source = Arc::new(BundleSource::new(&manifest, inputs));
    let candidate = Candidate { address: server.address, origin: "loopback".to_owned() };
    let dialer = Dialer::new(vec![candidate], credentials)?;

    let client_before = Usage::of("self")?;
    let start = Instant::now();
    let reached = dialer.reach(REACH_LIMIT).await?;
    let connection = reached.0.clone();
    let report = Upload::new(&dialer, &manifest, source, IDLE_LIMIT, &|_| ()).send(reached).await?;
    let seconds = start.elapsed().as_secs_f64();
    let (client, received) = (Usage::of("self")?, Usage::of(&server.process.id().to_string())?);

    upload::launch(&connection).await?.ok_or("the answer to the launch was lost")?;
    Ok(result_line(seconds, payload, &report, &client.since(&client_before), &received))
}

fn result_line(seconds: f64, payload: u64, report: &UploadReport, client: &Usage, server: &Usage) -> serde_json::Value {
    json!({
        "seconds": seconds,
        "payload_bytes": payload,
        "wire_bytes": report.wire_bytes,
        "resumed": report.resumed,
        "client": { "cpu_ms": client.cpu_ms, "peak_kib": client.peak_kib },
        "server": { "cpu_ms": server.cpu_ms, "peak_kib": server.peak_kib },
    })
}

fn inspect(path: &Path) -> Result<InspectedInput, AnyError> {
    let name = path.file_name().and_then(|name| name.to_str()).ok_or("a file without a name")?;
    Ok(InspectedInput::open(MemberKind::Jar, name.to_owned(), None, path.to_owned())?)
}

fn what_to_launch() -> Launch {
    Launch {
        main_class: "Main".to_owned(),
        resource: "spark-internal".to_owned(),
        arguments: Vec::new(),
        properties: std::collections::BTreeMap::new(),
        options: Vec::new(),
    }
}

/// Lays the server's three files down where a Secret would be mounted.
fn write_certificates(directory: &Path) -> Result<ClientCredentials, AnyError> {
    let (server, client) = certificates::issue(SERVER_NAME, OffsetDateTime::now_utc(), CERTIFICATE_LIFETIME)?;
    std::fs::create_dir_all(directory)?;
    std::fs::write(directory.join(TLS_CA), server.ca_pem)?;
    std::fs::write(directory.join(TLS_CERTIFICATE), server.certificate_pem)?;
    std::fs::write(directory.join(TLS_KEY), server.key_pem.expose_secret())?;
    Ok(client)
}

/// A driver server that listens.
struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start(program: &Path, directory: &Path) -> Result<Self, AnyError> {
        let data = directory.join("data");
        std::fs::create_dir_all(&data)?;
        let mut process = Command::new(program)
            .args(["--listen", "127.0.0.1:0", ARG_ENTRY_POINT, ENTRY_POINT, "--directory"])
            .arg(data)
            .arg("--tls-directory")
            .arg(directory.join("tls"))
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = process.stderr.take().ok_or("the server's log is not piped")?;
        match read_address(stderr) {
            Ok(address) => Ok(Self { process, address }),
            Err(error) => {
                process.kill()?;
                process.wait()?;
                Err(error)
            }
        }
    }
}

/// The address in the server's log. The rest of the log is read and dropped, so that the server never waits for us.
fn read_address(log: ChildStderr) -> Result<SocketAddr, AnyError> {
    let mut lines = BufReader::new(log).lines();
    let mut seen = String::new();
    for line in lines.by_ref().take(LOG_LINES_LIMIT) {
        let line = line?;
        if let Some((_, address)) = line.split_once("listening at ") {
            let address = address.trim().parse()?;
            std::thread::spawn(move || lines.for_each(drop));
            return Ok(address);
        }
        seen.push_str(&line);
        seen.push('\n');
    }
    Err(format!("the server does not say where it listens:\n{seen}").into())
}

/// What a process has used so far.
struct Usage {
    cpu_ms: u64,
    peak_kib: u64,
}

impl Usage {
    /// Of `/proc/<process>`. CPU time comes in hundredths of a second.
    fn of(process: &str) -> Result<Self, AnyError> {
        let folder = Path::new("/proc").join(process);
        let stat = std::fs::read_to_string(folder.join("stat"))?;
        // The second field is the program's name, in parentheses, and may hold blanks.
        let (_, fields) = stat.rsplit_once(')').ok_or("/proc/…/stat has no name")?;
        let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
        let status = std::fs::read_to_string(folder.join("status"))?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        Ok(Self { cpu_ms: ticks * 10, peak_kib: peak.ok_or("/proc/…/status has no VmHWM")?.parse()? })
    }

    fn since(self, before: &Self) -> Self {
        Self { cpu_ms: self.cpu_ms - before.cpu_ms, ..self }
    }
}
