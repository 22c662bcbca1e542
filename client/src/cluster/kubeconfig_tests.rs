//! kubeconfig files as users have them, on a real file system.

use super::*;
use shared::report::{Failure, render};
use std::ffi::OsString;

const A: &str = "apiVersion: v1
kind: Config
current-context: dev
users:
- name: u
  user: {token: from-a}
";
const B: &str = "apiVersion: v1
kind: Config
users:
- name: u
  user: {token: from-b}
clusters:
- name: c
  cluster: {server: 'https://10.0.0.1:6443', tls-server-name: api.example, certificate-authority: ca.pem}
contexts:
- name: dev
  context: {cluster: c, user: u, namespace: team}
";

fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn certificate() -> String {
    rcgen::generate_simple_self_signed(vec!["ca".into()]).unwrap().cert.pem()
}

#[test]
fn k04_files_are_merged_the_first_value_wins_and_paths_count_from_their_file() {
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (write(directory.path(), "a", A), write(directory.path(), "b", B));
    write(directory.path(), "ca.pem", &certificate());
    let mut variable = OsString::from(&a);
    variable.push("::/does/not/exist:");
    variable.push(&b);
    let files = files(Some(&variable), None);
    assert_eq!(files, [a, b]);
    let kubeconfig = read(&files).unwrap().unwrap();
    let (config, who, _) = context_config(&kubeconfig, None, None).unwrap();
    assert_eq!(config.cluster_url.to_string(), "https://10.0.0.1:6443/");
    assert_eq!(config.default_namespace, "team");
    assert_eq!(config.tls_server_name.as_deref(), Some("api.example"));
    assert_eq!(config.root_cert.as_ref().unwrap().len(), 1);
    let token = config.auth_info.token.as_ref().unwrap();
    assert_eq!(secrecy::ExposeSecret::expose_secret(token), "from-a");
    assert_eq!(who, "user u of context dev");
}

#[test]
fn the_master_replaces_the_server_and_keeps_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "ca.pem", &certificate());
    let kubeconfig = read(&[write(directory.path(), "b", B)]).unwrap().unwrap();
    let master: Uri = "https://api.example:443".parse().unwrap();
    let (config, _, _) = context_config(&kubeconfig, Some("dev"), Some(&master)).unwrap();
    assert_eq!(config.cluster_url, master);
    assert!(config.root_cert.is_some());
}

#[test]
fn k04_unusable_files_are_named_and_not_quoted() {
    let directory = tempfile::tempdir().unwrap();
    let broken = "apiVersion: v1\nusers:\n- name: u\n  user: {token: CANARYTOK, [\n";
    for text in [broken, "contexts: CANARYTOK", "users: [{name: 1, user: CANARYTOK}]"] {
        let file = write(directory.path(), "broken", text);
        let error = read(std::slice::from_ref(&file)).unwrap_err();
        let text = render("airlock", &error);
        assert_eq!(error.code(), ErrorCode::Kubeconfig);
        assert!(text.contains(&file.display().to_string()) && text.contains("line "), "{text}");
        assert!(!text.contains("CANARY"), "{text}");
    }
}

#[test]
fn k03_what_is_not_supported_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let insecure = B.replace("certificate-authority: ca.pem", "insecure-skip-tls-verify: true");
    let kubeconfig = read(&[write(directory.path(), "b", &insecure)]).unwrap().unwrap();
    let error = context_config(&kubeconfig, Some("dev"), None).unwrap_err();
    assert!(error.to_string().contains("insecure-skip-tls-verify"), "{error}");
    let error = context_config(&kubeconfig, Some("prod"), None).unwrap_err();
    assert_eq!(error.hints(), ["it has: dev"]);
    assert!(context_config(&kubeconfig, None, None).unwrap_err().to_string().contains("current-context"));
}

#[test]
fn without_any_file_there_is_no_kubeconfig() {
    assert_eq!(files(None, Some(Path::new("/does/not/exist"))), Vec::<PathBuf>::new());
    assert!(read(&[]).unwrap().is_none());
    assert!(read(&["/dev/null".into()]).unwrap().is_none());
}
