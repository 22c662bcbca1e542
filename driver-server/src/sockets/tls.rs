//! TLS of the server: version 1.3 only, and only for the peer whose certificate the submission's authority has signed
//! for clients. Key and certificates come from the mounted Secret; they are read once and never logged.

use std::path::Path;
use std::sync::Arc;

use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use shared::driver_contract::{TLS_CA, TLS_CERTIFICATE, TLS_KEY};
use shared::error_code::ErrorCode;
use shared::tls::{PROTOCOL_VERSIONS, crypto_provider};

use crate::error::Refusal;

/// The configuration from the files in `directory`.
pub fn server_config(directory: &Path) -> Result<Arc<ServerConfig>, Refusal> {
    let unusable = |file: &str, error: &dyn std::fmt::Display| {
        let detail = format!("the TLS Secret is unusable: {}: {error}", directory.join(file).display());
        Refusal::new(ErrorCode::Protocol, detail)
    };
    let mut authority = RootCertStore::empty();
    for certificate in certificates(directory, TLS_CA).map_err(|error| unusable(TLS_CA, &error))? {
        authority.add(certificate).map_err(|error| unusable(TLS_CA, &error))?;
    }
    let chain = certificates(directory, TLS_CERTIFICATE).map_err(|error| unusable(TLS_CERTIFICATE, &error))?;
    let key = PrivateKeyDer::from_pem_file(directory.join(TLS_KEY)).map_err(|error| unusable(TLS_KEY, &error))?;
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(authority), crypto_provider())
        .build()
        .map_err(|error| unusable(TLS_CA, &error))?;
    let mut config = ServerConfig::builder_with_provider(crypto_provider())
        .with_protocol_versions(PROTOCOL_VERSIONS)
        .map_err(|error| Refusal::bug(format!("TLS cannot be set up: {error}")))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .map_err(|error| unusable(TLS_CERTIFICATE, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // No resumption: every connection proves the client's certificate anew.
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    Ok(Arc::new(config))
}

fn certificates(directory: &Path, file: &str) -> Result<Vec<CertificateDer<'static>>, rustls_pki_types::pem::Error> {
    CertificateDer::pem_file_iter(directory.join(file))?.collect()
}
