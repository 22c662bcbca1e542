//! The trust of one submission: an authority that lives only in this function's memory, and two leaves that it signs
//! before it is dropped. Who mounts or sends them is the matter of others.
//!
//! The server's certificate has one name, the headless Service's, whatever address is dialled; the client verifies that
//! name against this authority and nothing else.

use std::sync::Arc;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore};
use secrecy::SecretString;
use shared::tls;
use time::OffsetDateTime;

use crate::error::SubmitError;
use crate::objects::driver_objects::ServerCertificates;

/// How far the clocks of the two machines may differ before a certificate seems to be of the future.
const CLOCK_TOLERANCE: Duration = Duration::from_hours(1);

/// What the client dials with: its own certificate, and trust in one authority for one name.
#[derive(Clone)]
pub struct ClientCredentials {
    /// The only name of the driver server.
    pub server_name: String,
    /// TLS 1.3 only, one authority, client certificate.
    pub config: Arc<ClientConfig>,
    /// Before and after these moments the certificates are invalid, for the message about clocks.
    pub validity: (OffsetDateTime, OffsetDateTime),
}

impl std::fmt::Debug for ClientCredentials {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ClientCredentials").field("server_name", &self.server_name).finish_non_exhaustive()
    }
}

/// Makes authority and leaves for the driver server called `server_name`, valid from an hour before `now` until `lifetime`
/// after it.
pub fn issue(
    server_name: &str,
    now: OffsetDateTime,
    lifetime: Duration,
) -> Result<(ServerCertificates, ClientCredentials), SubmitError> {
    let validity = (now - CLOCK_TOLERANCE, now + lifetime);
    make(server_name, validity)
        .map_err(|error| SubmitError::bug("the submission's certificates could not be made").because(error))
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

fn make(
    server_name: &str,
    validity: (OffsetDateTime, OffsetDateTime),
) -> Result<(ServerCertificates, ClientCredentials), AnyError> {
    let authority_key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let authority_params = authority(validity);
    let authority_certificate = authority_params.self_signed(&authority_key)?;
    let issuer = Issuer::new(authority_params, authority_key);

    let server_key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let server = leaf("airlock driver server", vec![server_name.to_owned()], validity, true)?;
    let server_certificate = server.signed_by(&server_key, &issuer)?;

    let client_key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let client = leaf("airlock client", vec![], validity, false)?;
    let client_certificate = client.signed_by(&client_key, &issuer)?;

    let config = client_config(authority_certificate.der(), client_certificate.der(), &client_key)?;
    let certificates = ServerCertificates {
        ca_pem: authority_certificate.pem(),
        certificate_pem: server_certificate.pem(),
        key_pem: SecretString::from(server_key.serialize_pem()),
    };
    Ok((certificates, ClientCredentials { server_name: server_name.to_owned(), config: Arc::new(config), validity }))
}

fn authority(validity: (OffsetDateTime, OffsetDateTime)) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = common_name("airlock submission authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    (params.not_before, params.not_after) = validity;
    params
}

fn leaf(
    name: &str,
    dns_names: Vec<String>,
    validity: (OffsetDateTime, OffsetDateTime),
    is_server: bool,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(dns_names)?;
    params.distinguished_name = common_name(name);
    // Says "no authority" in so many words: strict verifiers refuse a leaf that leaves it open.
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages =
        vec![if is_server { ExtendedKeyUsagePurpose::ServerAuth } else { ExtendedKeyUsagePurpose::ClientAuth }];
    params.use_authority_key_identifier_extension = true;
    (params.not_before, params.not_after) = validity;
    Ok(params)
}

/// A fixed subject: the name that counts is the subject alternative name, and a common name is limited to 64 characters.
fn common_name(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

fn client_config(
    authority: &CertificateDer<'static>,
    certificate: &CertificateDer<'static>,
    key: &KeyPair,
) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.clone())?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ClientConfig::builder_with_provider(tls::crypto_provider())
        .with_protocol_versions(tls::PROTOCOL_VERSIONS)?
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![certificate.clone()], key)?;
    // A resumed session would skip the server's certificate; each connection proves itself.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::pem::PemObject;
    use x509_parser::prelude::*;

    const LIFETIME: Duration = Duration::from_hours(24);
    const NAME: &str = "word-count-0123456789abcdef-driver-svc.spark.svc";

    fn issued() -> ServerCertificates {
        issue(NAME, OffsetDateTime::now_utc(), LIFETIME).unwrap().0
    }

    fn der(pem: &str) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
    }

    #[test]
    fn t03_the_server_leaf_is_no_authority_and_serves_only() {
        let bytes = der(&issued().certificate_pem);
        let (_, certificate) = X509Certificate::from_der(&bytes).unwrap();
        assert!(!certificate.basic_constraints().unwrap().unwrap().value.ca);
        let usage = certificate.extended_key_usage().unwrap().unwrap().value;
        assert!(usage.server_auth && !usage.client_auth && !usage.any);
        let names = &certificate.subject_alternative_name().unwrap().unwrap().value.general_names;
        assert!(matches!(names.as_slice(), [GeneralName::DNSName(NAME)]));
    }

    #[test]
    fn t05_lifetimes_are_bounded_and_no_key_is_used_twice() {
        let (first, second) = (issued(), issued());
        assert_ne!(first.ca_pem, second.ca_pem);
        assert_ne!(first.certificate_pem, second.certificate_pem);
        for pem in [&first.ca_pem, &first.certificate_pem] {
            let bytes = der(pem);
            let (_, certificate) = X509Certificate::from_der(&bytes).unwrap();
            let validity = certificate.validity();
            let now = OffsetDateTime::now_utc().unix_timestamp();
            assert!((now - validity.not_before.timestamp() - 3600).abs() < 60);
            assert!(validity.not_after.timestamp() - now <= 24 * 3600);
        }
    }

    #[test]
    fn t08_keys_are_not_printed() {
        let (certificates, credentials) = issue(NAME, OffsetDateTime::now_utc(), LIFETIME).unwrap();
        let text = format!("{certificates:?} {credentials:?}");
        assert!(!text.contains("PRIVATE"), "{text}");
    }
}
