//! What the submitter proves itself with where its own settings say so, `spark.kubernetes.authenticate.submission.*`, laid
//! over what the kubeconfig says. Upstream's `SparkKubernetesClientFactory` does the same, except that there a certificate
//! of the kubeconfig's user goes along with a token and may win over it: here, who is named is who it is.

use std::path::{Path, PathBuf};

use kube::Config;
use kube::config::AuthInfo;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use shared::error_code::ErrorCode;

use crate::error::SubmitError;
use crate::settings::SubmitterCredentials;

/// The front of the keys' names.
const PREFIX: &str = "spark.kubernetes.authenticate.submission.";

/// Lays `credentials` over `config`. True when they say who we are.
pub fn apply(credentials: &SubmitterCredentials, config: &mut Config) -> Result<bool, SubmitError> {
    if let Some(file) = &credentials.ca_cert_file {
        config.root_cert = Some(authorities(file)?);
    }
    if !credentials.identify() {
        return Ok(false);
    }
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.to_string_lossy().into_owned());
    for (key, file) in
        [("clientCertFile", &credentials.client_cert_file), ("clientKeyFile", &credentials.client_key_file)]
    {
        if let Some(file) = file {
            read(key, file)?;
        }
    }
    if let Some(file) = &credentials.token_file {
        read("oauthTokenFile", file)?;
    }
    config.auth_info = AuthInfo {
        token: credentials.token.clone(),
        token_file: path(&credentials.token_file),
        client_certificate: path(&credentials.client_cert_file),
        client_key: path(&credentials.client_key_file),
        ..AuthInfo::default()
    };
    Ok(true)
}

/// A token file may end in a line's end, as every editor leaves it; kubectl reads it so, our library does not. Whoever
/// replaces it later is heard when the old token does not work any more.
pub fn trim_token_file(config: &mut Config) {
    let user = &mut config.auth_info;
    if user.token.is_some() {
        return;
    }
    let read = user.token_file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
    if let Some(text) = read.filter(|text| text.trim().len() != text.len()) {
        user.token = Some(text.trim().into());
    }
}

fn authorities(file: &Path) -> Result<Vec<Vec<u8>>, SubmitError> {
    let pem = read("caCertFile", file)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => {
            Ok(certificates.into_iter().map(|certificate| certificate.to_vec()).collect())
        }
        Ok(_) => Err(unusable("caCertFile", file).because("it holds no certificate in PEM")),
        Err(error) => Err(unusable("caCertFile", file).because(error.to_string())),
    }
}

fn read(key: &str, file: &Path) -> Result<Vec<u8>, SubmitError> {
    std::fs::read(file).map_err(|error| unusable(key, file).because(error))
}

fn unusable(key: &str, file: &Path) -> SubmitError {
    SubmitError::new(ErrorCode::Kubeconfig, format!("{PREFIX}{key}={} cannot be used", file.display()))
        .hint("name a file of this machine, or leave the key out: the kubeconfig is used then")
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    fn config(user: AuthInfo) -> Config {
        let mut config = Config::new("https://10.0.0.1:6443".parse().unwrap());
        config.auth_info = user;
        config
    }

    fn file(directory: &tempfile::TempDir, content: &str) -> PathBuf {
        let path = directory.path().join("file");
        std::fs::write(&path, content).unwrap();
        path
    }

    #[test]
    fn a_token_of_the_settings_replaces_the_kubeconfigs_user_whole() {
        let mut config = config(AuthInfo { client_certificate: Some("c".into()), ..AuthInfo::default() });
        let credentials = SubmitterCredentials { token: Some("t".into()), ..SubmitterCredentials::default() };
        assert!(apply(&credentials, &mut config).unwrap());
        assert_eq!(config.auth_info.token.as_ref().unwrap().expose_secret(), "t");
        assert_eq!(config.auth_info.client_certificate, None);
    }

    #[test]
    fn an_authority_alone_leaves_the_user_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let pem = rcgen::generate_simple_self_signed(vec!["ca".into()]).unwrap().cert.pem();
        let mut config = config(AuthInfo { username: Some("ann".into()), ..AuthInfo::default() });
        let credentials =
            SubmitterCredentials { ca_cert_file: Some(file(&directory, &pem)), ..SubmitterCredentials::default() };
        assert!(!apply(&credentials, &mut config).unwrap());
        assert_eq!(config.root_cert.unwrap().len(), 1);
        assert_eq!(config.auth_info.username.as_deref(), Some("ann"));
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named_with_its_key() {
        let directory = tempfile::tempdir().unwrap();
        let empty = SubmitterCredentials {
            ca_cert_file: Some(file(&directory, "no certificate")),
            ..SubmitterCredentials::default()
        };
        let gone = SubmitterCredentials { token_file: Some("/gone".into()), ..SubmitterCredentials::default() };
        for (credentials, key) in [(empty, "submission.caCertFile"), (gone, "submission.oauthTokenFile")] {
            let error = apply(&credentials, &mut config(AuthInfo::default())).unwrap_err();
            assert!(error.code() == ErrorCode::Kubeconfig && error.to_string().contains(key), "{error}");
        }
    }

    #[test]
    fn a_token_file_may_end_in_a_new_line() {
        let directory = tempfile::tempdir().unwrap();
        let token_file = file(&directory, "token\n").to_string_lossy().into_owned();
        let mut config = config(AuthInfo { token_file: Some(token_file), ..AuthInfo::default() });
        trim_token_file(&mut config);
        assert_eq!(config.auth_info.token.unwrap().expose_secret(), "token");
    }
}
