//! The one crypto provider and the one protocol version of both sides. Certificates and trust are the matter of each
//! side: the client makes them, the driver server reads them.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

/// TLS 1.3, and nothing else: both ends are ours.
pub const PROTOCOL_VERSIONS: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS13];

/// The provider that every TLS configuration of ours is built with, by name, so that no process-wide default decides.
#[must_use]
pub fn crypto_provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Makes the same provider the process's default, for libraries that ask for it (kube). Called once, first thing in
/// `main`; a later call changes nothing.
pub fn install_crypto_provider() {
    // An error means that a default exists already. There is one provider in the tree, so it is this one.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
