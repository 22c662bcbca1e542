//! The client of the API server that all calls share, and a new one with fresh credentials when the old ones run out in a
//! long wait: a credential helper whose token names no end, a certificate, a kubeconfig that somebody logs in to again
//! (K02). The way in stays the same: a context that was chosen since leads elsewhere, and is not followed.

use std::sync::Mutex;

use kube::Client;
use tokio::sync::Mutex as AsyncMutex;

use crate::cluster::kube_access::{self, Access};
use crate::settings::AccessSettings;

/// One client at a time, and how to make the next.
pub struct Connection {
    current: Mutex<Numbered>,
    /// None: the client is all there is.
    again: Option<Again>,
    renewing: AsyncMutex<()>,
}

/// How a client is made anew.
struct Again {
    settings: AccessSettings,
    server: http::Uri,
}

#[derive(Clone)]
struct Numbered {
    client: Client,
    /// Grows with each renewal.
    number: u64,
    /// Whether a call has gone well with it: credentials that never worked do not run out.
    worked: bool,
}

impl From<Client> for Connection {
    fn from(client: Client) -> Self {
        let current = Mutex::new(Numbered { client, number: 0, worked: false });
        Self { current, again: None, renewing: AsyncMutex::default() }
    }
}

impl Connection {
    /// `access` is what `settings` led to.
    #[must_use]
    pub fn new(access: Access, settings: &AccessSettings) -> Self {
        let settings = AccessSettings { context: access.context, ..settings.clone() };
        Self { again: Some(Again { settings, server: access.server }), ..Self::from(access.client) }
    }

    /// The client as it is now.
    #[must_use]
    pub fn client(&self) -> Client {
        self.now().client
    }

    /// The number of the client as it is now, for [`Self::renew`].
    #[must_use]
    pub fn number(&self) -> u64 {
        self.now().number
    }

    /// A call with the current client went well.
    pub fn works(&self) {
        self.lock().worked = true;
    }

    /// The API server does not know us any more by client `number`. True when there is a newer one, made by this call or
    /// by another that was faster.
    pub async fn renew(&self, number: u64) -> bool {
        let Some(again) = &self.again else { return false };
        let _one_at_a_time = self.renewing.lock().await;
        let now = self.now();
        if now.number != number || !now.worked {
            return now.number != number;
        }
        match kube_access::connect(&again.settings).await {
            Ok(access) if access.server == again.server => {
                *self.lock() = Numbered { client: access.client, number: number + 1, worked: false };
                true
            }
            Ok(_) | Err(_) => false,
        }
    }

    fn now(&self) -> Numbered {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Numbered> {
        self.current.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
