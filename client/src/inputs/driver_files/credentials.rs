//! What the driver proves itself with to the API server, in place of its service account: files of this machine, or
//! paths that its image or template provides. Upstream's step `DriverKubernetesCredentials`.

use secrecy::{ExposeSecret, SecretSlice};

use super::Look;
use crate::settings::driver_files::{CREDENTIALS_VOLUME, DriverFiles, FileContents, Source, Store};

const PREFIX: &str = "spark.kubernetes.authenticate.driver.";
/// Paths in the pod.
const MOUNTED: &str = "spark.kubernetes.authenticate.driver.mounted.";
/// Where a driver in plain client mode looks, which ours is.
const CLIENT_MODE: &str = "spark.kubernetes.authenticate.";
const DIRECTORY: &str = "/mnt/secrets/spark-kubernetes-credentials";
const TOKEN_FILE: &str = "oauthTokenFile";
/// The end of a key, and the file's name in the Secret.
const FILES: [(&str, &str); 4] = [
    ("caCertFile", "ca-cert"),
    ("clientKeyFile", "client-key"),
    ("clientCertFile", "client-cert"),
    (TOKEN_FILE, "oauth-token"),
];

pub(super) fn read(look: &mut Look<'_>) {
    let mut files = FileContents::new();
    for (key, file) in FILES {
        let given = content(look, key).map(|content| files.insert(file.to_owned(), content));
        let mounted = look.text(&format!("{MOUNTED}{key}")).map(ToOwned::to_owned);
        if let Some(path) = mounted.or_else(|| given.map(|_| format!("{DIRECTORY}/{file}"))) {
            look.set(format!("{MOUNTED}{key}"), &path);
            look.set(format!("{CLIENT_MODE}{key}"), &path);
        }
    }
    if files.is_empty() {
        return;
    }
    if look.text("spark.kubernetes.authenticate.driver.serviceAccountName").is_some() {
        look.findings.warn(format!(
            "{PREFIX}serviceAccountName is not set on the driver pod: the driver's own credentials come first, as with \
             spark-submit"
        ));
    }
    look.found.files.push(DriverFiles {
        volume: CREDENTIALS_VOLUME,
        store: Store::Secret,
        source: Source::Made { suffix: "-kubernetes-credentials", files },
        path: DIRECTORY,
        only: None,
        variable: None,
        name_property: None,
    });
}

/// What stands in the file that `key` names; a token may also be the value of a key itself.
fn content(look: &mut Look<'_>, key: &str) -> Option<SecretSlice<u8>> {
    let name = format!("{PREFIX}{key}");
    if key != TOKEN_FILE {
        return look.file(&name);
    }
    let token_key = format!("{PREFIX}oauthToken");
    match (look.text(&token_key), look.text(&name)) {
        (Some(_), Some(_)) => {
            look.refuse(format!("{token_key} and {name} are both given"), "leave one of them out");
            None
        }
        (Some(""), None) => {
            look.refuse(format!("{token_key} is empty"), "give the token, or leave the key out");
            None
        }
        (Some(token), None) => Some(token.as_bytes().to_vec().into()),
        // It becomes a header, in which a line's end cannot stand.
        (None, _) => look.file(&name).map(|token| token.expose_secret().trim_ascii_end().to_vec().into()),
    }
}
