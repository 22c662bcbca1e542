//! One authority with the two leaves of a submission, as the client makes them.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use shared::tls::{PROTOCOL_VERSIONS, crypto_provider};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The server's only name.
pub(crate) const SERVER_NAME: &str = "job-0123456789abcdef-driver-svc.default.svc";

/// A certificate with its key, PEM.
pub(crate) struct Leaf {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

pub(crate) struct Certificates {
    pub(crate) authority: String,
    pub(crate) server: Leaf,
    pub(crate) client: Leaf,
}

impl Certificates {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().unwrap();
        let authority = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        let server =
            leaf(&issuer, vec![SERVER_NAME.to_owned(), "127.0.0.1".to_owned()], ExtendedKeyUsagePurpose::ServerAuth);
        let client = leaf(&issuer, vec![], ExtendedKeyUsagePurpose::ClientAuth);
        Self { authority, server, client }
    }

    /// Writes what the Secret holds.
    pub(crate) fn write(&self, directory: &Path) {
        fs::write(directory.join("ca.crt"), &self.authority).unwrap();
        fs::write(directory.join("tls.crt"), &self.server.certificate).unwrap();
        fs::write(directory.join("tls.key"), &self.server.key).unwrap();
    }

    /// A configuration that trusts this authority and shows `leaf`, if any.
    pub(crate) fn config(&self, leaf: Option<&Leaf>) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.authority.as_bytes()).unwrap()).unwrap();
        let builder = ClientConfig::builder_with_provider(crypto_provider())
            .with_protocol_versions(PROTOCOL_VERSIONS)
            .unwrap()
            .with_root_certificates(roots);
        let Some(leaf) = leaf else { return builder.with_no_client_auth() };
        let certificate = CertificateDer::from_pem_slice(leaf.certificate.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(leaf.key.as_bytes()).unwrap();
        builder.with_client_auth_cert(vec![certificate], key).unwrap()
    }

    pub(crate) fn client(&self, address: SocketAddr) -> reqwest::Client {
        reqwest::Client::builder()
            .tls_backend_preconfigured(self.config(Some(&self.client)))
            .resolve(SERVER_NAME, address)
            .no_proxy()
            .build()
            .unwrap()
    }

    /// A bare TLS connection.
    pub(crate) async fn connect(
        &self,
        address: SocketAddr,
        leaf: Option<&Leaf>,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let socket = TcpStream::connect(address).await?;
        let name = ServerName::try_from(SERVER_NAME).unwrap();
        TlsConnector::from(Arc::new(self.config(leaf))).connect(name, socket).await
    }
}

fn leaf(issuer: &Issuer<'_, KeyPair>, names: Vec<String>, usage: ExtendedKeyUsagePurpose) -> Leaf {
    let mut params = CertificateParams::new(names).unwrap();
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, issuer).unwrap();
    Leaf { certificate: certificate.pem(), key: key.serialize_pem() }
}
