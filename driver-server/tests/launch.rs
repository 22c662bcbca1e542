//! From the first request to the driver: the real binary, real TLS, a real exec.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed helper fails its test")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use common::bundle::{Bundle, gzip, launch, member};
use common::{DEADLINE, Server, command, prepare, refused, run_to_end};
use shared::manifest::{Launch, Member, MemberKind};
use shared::protocol::SubmissionState;

/// A bundle whose driver runs `script` in its working directory.
fn running(script: &str) -> Bundle {
    Bundle::new(vec![(member(MemberKind::File, "run.sh"), script.as_bytes().to_vec())])
}

#[tokio::test]
async fn x01_p01_the_driver_gets_its_arguments_and_files_and_its_status_is_the_containers() {
    let environment = tar_of("bin/python", b"#!/bin/sh\n");
    let bundle = Bundle::new(vec![
        (member(MemberKind::App, "main.py"), b"print()".to_vec()),
        (member(MemberKind::Jar, "a b.jar"), vec![7; 3_000_000]),
        (Member { mode: 0o755, ..member(MemberKind::PyFile, "tool") }, b"tool".to_vec()),
        (member(MemberKind::File, "run.sh"), b"cat data.txt; cat env/bin/python; exit 3".to_vec()),
        (member(MemberKind::File, "data.txt"), b"DATA\n".to_vec()),
        (Member { alias: Some("env".into()), ..member(MemberKind::Archive, "e.tgz") }, gzip(&environment)),
        (member(MemberKind::Conf, "log4j2.properties"), b"x=y".to_vec()),
    ]);
    // Whatever the umask, the modes are the manifest's.
    let server = Server::start_in(tempfile::tempdir().unwrap(), &[], |command| {
        let plain = std::mem::replace(command, std::process::Command::new("sh"));
        command.args(["-c", "umask 077; exec \"$0\" \"$@\""]).arg(plain.get_program()).args(plain.get_args());
        command
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
    });
    let client = server.client();
    let status = client.upload(&bundle).await;
    assert_eq!(status.digest.as_deref(), Some(bundle.digest().as_str()));
    assert_eq!(client.launch().await.unwrap().state, SubmissionState::Launched);

    let root = fs::canonicalize(server.path("airlock")).unwrap();
    let mode = |path: &str| fs::metadata(root.join(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode("bundle/jars/a b.jar"), 0o644);
    assert_eq!(mode("bundle/py-files/tool"), 0o755);
    assert_eq!(mode("bundle/conf/spark.properties"), 0o600);
    for folder in ["bundle", "bundle/jars", "bundle/conf", "work-dir", "work-dir/env"] {
        assert_eq!(mode(folder), 0o755, "{folder}");
    }
    let ended = server.wait();
    assert_eq!(ended.code(), 3, "{}", ended.log);
    assert!(ended.stdout.ends_with("DATA\n#!/bin/sh\n"), "{}", ended.stdout);
    let properties = format!("arg=[{}]", root.join("bundle/conf/spark.properties").display())
        .replace(&*root.to_string_lossy(), "ROOT");
    let arguments: Vec<_> = ended.stdout.lines().filter(|line| line.starts_with("arg")).collect();
    let expected = ["argc=10", "arg=[driver]", "arg=[--properties-file]"];
    assert_eq!(arguments[..3], expected);
    assert!(arguments[3].ends_with(properties.strip_prefix("arg=[ROOT").unwrap()), "{}", arguments[3]);
    let rest = ["arg=[--class]", "arg=[org.example.Main]", "arg=[spark-internal]"];
    assert_eq!(arguments[4..7], rest);
    assert_eq!(arguments[7..], ["arg=[--query]", "arg=[select * from t]", "arg=[it's]", "arg=[]"]);
    assert!(ended.stdout.contains(&format!("cwd={}\n", root.join("work-dir").display())), "{}", ended.stdout);
    assert_eq!(ended.termination, "");
}

fn tar_of(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o755);
    builder.append_data(&mut header, name, bytes).unwrap();
    builder.into_inner().unwrap()
}

#[tokio::test]
async fn x02_the_driver_inherits_no_signal_no_descriptor_and_no_variable_of_ours() {
    // Even what whoever started us had set to be ignored is back at its default.
    let server = Server::start_in(tempfile::tempdir().unwrap(), &[], |command| {
        let plain = std::mem::replace(command, std::process::Command::new("sh"));
        let script = "trap '' TERM INT HUP QUIT PIPE; exec \"$0\" \"$@\" 3<&- 4<&- 5<&-";
        command
            .args(["-c", script])
            .arg(plain.get_program())
            .args(plain.get_args())
            .env_clear()
            .env("PATH", "/usr/bin:/bin");
        command
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
    });
    let client = server.client();
    client.upload(&running("exit 0")).await;
    client.launch().await.unwrap();
    let ended = server.wait();
    assert_eq!(ended.code(), 0, "{}", ended.log);
    let value =
        |key: &str| ended.stdout.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_else(|| panic!("{key}"));
    // Bits 31 and 32 are those of signals that the C library keeps to itself.
    for key in ["SigBlk:", "SigIgn:"] {
        let mask = u64::from_str_radix(value(key).trim(), 16).unwrap();
        assert_eq!(mask & !(3 << 31), 0, "{key} {mask:x}");
    }
    // What this test itself has inherited is passed on to everyone; the shell has its script open.
    let inherited: Vec<_> =
        fs::read_dir("/proc/self/fd").unwrap().flatten().flat_map(|fd| fs::read_link(fd.path())).collect();
    let descriptors = ended.stdout.lines().filter_map(|line| line.strip_prefix("fd=")?.split_once(' '));
    let mut numbers = Vec::new();
    for (number, target) in descriptors {
        if !inherited.contains(&target.into()) && !target.ends_with("entry point.sh") {
            numbers.push(number);
        }
    }
    assert_eq!(numbers.iter().filter(|number| number.len() > 1 || **number > "2").count(), 0, "{}", ended.stdout);
    assert!(ended.stdout.contains("fd=1 pipe:"), "{}", ended.stdout);
    assert_eq!(value("environment=").trim(), "PATH PWD");
}

#[tokio::test]
async fn x02_a_running_driver_gets_the_signal_itself() {
    let server = Server::start();
    let client = server.client();
    client.upload(&running("trap 'echo BYE; exit 143' TERM; touch ready; while :; do sleep 0.01; done")).await;
    client.launch().await.unwrap();
    let ready = server.path("airlock/work-dir/ready");
    let deadline = Instant::now() + DEADLINE;
    while !ready.exists() {
        assert!(Instant::now() < deadline);
        tokio::task::yield_now().await;
    }
    assert!(std::net::TcpStream::connect(server.address).is_err(), "the listener is gone");
    server.signal("TERM");
    let ended = server.wait();
    assert_eq!(ended.code(), 143);
    assert!(ended.stdout.ends_with("BYE\n"), "{}", ended.stdout);
}

#[tokio::test]
async fn x02_a_signal_before_the_launch_ends_the_server_within_two_seconds() {
    for (signal, code, name) in
        [("TERM", 143, "E_TERMINATED"), ("INT", 130, "E_INTERRUPTED"), ("HUP", 143, "E_TERMINATED")]
    {
        let server = Server::start();
        let client = server.client();
        let bundle = Bundle::of_jars(&[("a.jar", &[7; 5000])]);
        client.put(&bundle.manifest).await.unwrap();
        // In the middle of an upload.
        let (feed, body) = common::hand_fed();
        let uploading = tokio::spawn(client.patch_request(0).body(body).send());
        feed.send(Ok(gzip(&bundle.tar()[..1024]).into())).await.unwrap();
        client.wait_for(|status| status.offset == 1024).await;
        let started = Instant::now();
        server.signal(signal);
        let ended = server.wait();
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
        assert_eq!(ended.code(), code);
        assert!(ended.termination.starts_with(name), "{}", ended.termination);
        assert!(ended.log.lines().last().unwrap().starts_with(&format!("airlock-driver: {name}: ")), "{}", ended.log);
        drop(feed);
        assert!(uploading.await.unwrap().is_err());
    }
}

#[tokio::test]
async fn x02_a_signal_around_exec_is_never_lost() {
    for step in 0..12_u64 {
        let server = Server::start();
        let client = server.client();
        client.upload(&running("exec sleep 60")).await;
        client.launch().await.unwrap();
        // From well before exec to well behind it.
        tokio::time::sleep(Duration::from_millis(step)).await;
        server.signal("TERM");
        let status = server.wait().status;
        let by_signal = std::os::unix::process::ExitStatusExt::signal(&status) == Some(15);
        assert!(by_signal || status.code() == Some(143), "step {step}: {status}");
    }
}

#[tokio::test]
async fn u05_the_launch_is_decided_once_however_often_it_is_asked() {
    let server = Server::start();
    let client = server.client();
    client.upload(&running("echo started >>../started")).await;
    let post = || client.request(reqwest::Method::POST, shared::protocol::LAUNCH_PATH).send();
    let asked = futures::future::join_all((0..5).map(|_| post())).await;
    // A request that comes when the server has closed gets no answer; the first one always gets its own.
    let answered: Vec<_> = asked.into_iter().flatten().map(|response| response.status().as_u16()).collect();
    assert!(!answered.is_empty() && answered.iter().all(|status| *status == 202), "{answered:?}");
    let started = server.path("airlock/started");
    let ended = server.wait();
    assert_eq!(ended.code(), 0);
    assert_eq!(fs::read_to_string(started).unwrap(), "started\n");
}

#[tokio::test]
async fn u05_a_client_that_is_gone_before_the_answer_has_launched() {
    let server = Server::start();
    let client = server.client();
    client.upload(&running("exit 4")).await;
    let mut raw = server.certificates.connect(server.address, Some(&server.certificates.client)).await.unwrap();
    let head = b"POST /v1/submission/launch HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut raw, head).await.unwrap();
    drop(raw);
    // Whether or not the request had been read by then, asking again starts nothing twice.
    let _ = client.request(reqwest::Method::POST, shared::protocol::LAUNCH_PATH).send().await;
    assert_eq!(server.wait().code(), 4);
}

#[tokio::test]
async fn a06_a_launch_before_the_end_is_refused_and_the_upload_goes_on() {
    let server = Server::start();
    let client = server.client();
    let bundle = Bundle::of_jars(&[("a.jar", b"aa"), ("b.jar", b"bb")]);
    assert_eq!(refused(client.launch().await), (409, "E_TRUNCATED".into()));
    client.put(&bundle.manifest).await.unwrap();
    let status = client.patch(0, gzip(&bundle.tar()[..1024])).await.unwrap();
    assert_eq!((status.state, status.offset), (SubmissionState::Receiving, 1024));
    assert_eq!(refused(client.launch().await), (409, "E_TRUNCATED".into()));
    assert!(!server.path("airlock/bundle").exists());
    let status = client.patch(1024, gzip(&bundle.tar()[1024..])).await.unwrap();
    assert_eq!(status.state, SubmissionState::Verified);
    client.launch().await.unwrap();
    assert_eq!(server.wait().code(), 0);
}

#[tokio::test]
async fn an_archive_that_cannot_be_unpacked_is_refused_at_the_launch() {
    let server = Server::start();
    let client = server.client();
    client.upload(&Bundle::new(vec![(member(MemberKind::Archive, "e.zip"), b"no zip".to_vec())])).await;
    let problem = client.launch().await.unwrap_err();
    assert_eq!((problem.status, problem.code.as_str()), (422, "E_ARCHIVE_FORMAT"));
    assert!(problem.detail.contains("archives/e.zip"), "{}", problem.detail);
    assert_eq!(refused(client.launch().await), (422, "E_ARCHIVE_FORMAT".into()));
}

#[tokio::test]
async fn an_entry_point_that_cannot_be_executed_says_so() {
    let server = Server::start();
    let client = server.client();
    client.upload(&running("exit 0")).await;
    fs::write(server.path("entry point.sh"), "#!/no/such/interpreter\n").unwrap();
    client.launch().await.unwrap();
    let ended = server.wait();
    assert_eq!(ended.code(), 69);
    assert!(
        ended.termination.starts_with("E_LAUNCH: ") && ended.termination.contains("entry point.sh"),
        "{}",
        ended.termination
    );
}

#[test]
fn an_image_without_the_entry_point_ends_before_anything_is_uploaded() {
    let temporary = tempfile::tempdir().unwrap();
    let certificates = prepare(temporary.path());
    fs::remove_file(temporary.path().join("entry point.sh")).unwrap();
    let ended = run_to_end(temporary, certificates);
    assert_eq!(ended.code(), 69);
    assert!(ended.termination.starts_with("E_LAUNCH: "), "{}", ended.termination);
}

#[tokio::test]
async fn c05_a_server_started_again_ends_at_once() {
    for launched in [false, true] {
        let mut server = Server::start();
        let client = server.client();
        client.upload(&running("exit 0")).await;
        if launched {
            client.launch().await.unwrap();
        } else {
            server.signal("KILL");
        }
        let root = std::mem::replace(&mut server.temporary, tempfile::tempdir().unwrap());
        fs::write(server.path("termination-log"), "").unwrap();
        drop(server.wait());
        let certificates = common::certificates::Certificates::new();
        let ended = run_to_end(root, certificates);
        assert_eq!(ended.code(), 69);
        assert!(ended.termination.starts_with("E_UPLOAD_LOST: "), "{}", ended.termination);
    }
}

#[tokio::test]
async fn t08_neither_arguments_nor_properties_are_ever_logged() {
    let server = Server::start();
    let client = server.client();
    let secret = Launch {
        arguments: vec!["CANARYARGUMENT".into()],
        properties: BTreeMap::from([("spark.my.password".into(), "CANARYCONF".into())]),
        ..launch()
    };
    client.upload(&Bundle::with_launch(vec![(member(MemberKind::Jar, "a.jar"), b"x".to_vec())], secret)).await;
    client.launch().await.unwrap();
    let ended = server.wait();
    assert!(!ended.log.contains("CANARY"), "{}", ended.log);
    let key = ended.log.contains("PRIVATE KEY");
    assert!(!key);
}

#[test]
fn a_command_line_that_cannot_be_used_is_64() {
    let temporary = tempfile::tempdir().unwrap();
    prepare(temporary.path());
    let output = command(temporary.path()).arg("--idle-timeout-seconds=0").output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    let output = command(temporary.path()).arg("--help").output().unwrap();
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("--max-bundle-bytes"));
}
