//! Kerberos: `krb5.conf`, a keytab, Hadoop's delegation tokens. Upstream's step `KerberosConfDriver`, except for what
//! needs Hadoop's classes: with a ticket alone, spark-submit fetches tokens itself. That is said, with the ways out.

use std::path::Path;

use secrecy::ExposeSecret;
use shared::error_code::ErrorCode;
use shared::manifest::MemberKind;

use super::{Look, content, local_path, object_key};
use crate::error::SubmitError;
use crate::inputs::reference;
use crate::settings::InputPlace;
use crate::settings::driver_files::{DriverFiles, FileContents, Source, Store};

const PRINCIPAL_KEY: &str = "spark.kerberos.principal";
const KEYTAB_KEY: &str = "spark.kerberos.keytab";
const KRB5_KEY: &str = "spark.kubernetes.kerberos.krb5.path";
const KRB5_CONFIG_MAP_KEY: &str = "spark.kubernetes.kerberos.krb5.configMapName";
const TOKEN_SECRET_KEY: &str = "spark.kubernetes.kerberos.tokenSecret.name";
const TOKEN_ITEM_KEY: &str = "spark.kubernetes.kerberos.tokenSecret.itemKey";
const TOKEN_VARIABLE: &str = "HADOOP_TOKEN_FILE_LOCATION";
const KEYTAB_DIRECTORY: &str = "/mnt/secrets/kerberos-keytab";
const TOKEN_DIRECTORY: &str = "/mnt/secrets/hadoop-credentials";
/// Upstream's name for tokens that the submission brings.
const TOKEN_ITEM: &str = "hadoop-tokens";
const KRB5_FILE: &str = "krb5.conf";
/// Hadoop's setting that says whether it is secured.
const SECURITY: &str = "hadoop.security.authentication";

pub(super) fn read(look: &mut Look<'_>, proxy_user: bool) {
    check_pair(look, PRINCIPAL_KEY, KEYTAB_KEY);
    check_pair(look, TOKEN_SECRET_KEY, TOKEN_ITEM_KEY);
    if proxy_user && look.text(PRINCIPAL_KEY).is_some() {
        look.refuse("--proxy-user and --principal are both given", "leave one of them out");
    }
    krb5(look);
    let has_keytab = look.text(KEYTAB_KEY).is_some();
    let is_sent = keytab(look);
    let has_tokens = tokens(look, has_keytab, is_sent);
    if !has_keytab && !has_tokens && is_secured(look) {
        look.findings.warn(format!(
            "Hadoop is secured by Kerberos, and the driver gets no tokens: airlock cannot fetch them as spark-submit \
             does; give --principal and --keytab, or a Secret with tokens ({TOKEN_SECRET_KEY}), or ${TOKEN_VARIABLE}"
        ));
    }
}

fn check_pair(look: &mut Look<'_>, one: &str, other: &str) {
    if look.text(one).is_some() != look.text(other).is_some() {
        let (given, absent) = if look.text(one).is_some() { (one, other) } else { (other, one) };
        look.refuse(format!("{given} is given without {absent}"), "give both, or none of them");
    }
}

/// Always mounted as `krb5.conf`, whatever the file is called here.
fn krb5(look: &mut Look<'_>) {
    let existing = look.object(KRB5_CONFIG_MAP_KEY).map(Source::Existing);
    if look.text(KRB5_KEY).is_some() && look.text(KRB5_CONFIG_MAP_KEY).is_some() {
        look.refuse(format!("{KRB5_KEY} and {KRB5_CONFIG_MAP_KEY} are both given"), "leave one of them out");
        return;
    }
    let made = look.file(KRB5_KEY).map(|content| made("-krb5-file", KRB5_FILE, content));
    if let Some(source) = existing.or(made) {
        let place =
            DriverFiles { only: Some(KRB5_FILE), ..place("krb5-file", Store::ConfigMap, source, "/etc/krb5.conf") };
        look.found.files.push(place);
    }
}

/// Whether a keytab of this machine is sent. One in the image is the driver's matter.
fn keytab(look: &mut Look<'_>) -> bool {
    let Some(text) = look.text(KEYTAB_KEY) else { return false };
    let in_image = reference::parse(MemberKind::Conf, text)
        .is_ok_and(|reference| matches!(&reference.place, InputPlace::Elsewhere(uri) if uri.starts_with("local:")));
    if in_image {
        return false;
    }
    let Some((name, content)) = look.findings.keep(read_keytab(text)) else { return true };
    look.set(KEYTAB_KEY.to_owned(), &format!("{KEYTAB_DIRECTORY}/{name}"));
    let source = made("-kerberos-keytab", &name, content);
    look.found.files.push(place("kerberos-keytab", Store::Secret, source, KEYTAB_DIRECTORY));
    true
}

fn read_keytab(text: &str) -> Result<(String, secrecy::SecretSlice<u8>), SubmitError> {
    let path = local_path(KEYTAB_KEY, text)?;
    let content = content(&path).map_err(|error| error.hint(format!("{KEYTAB_KEY} names it")))?;
    let name = object_key(&path).ok_or_else(|| {
        let what = format!("keytab {}: no Secret can hold a file of that name", path.display());
        SubmitError::new(ErrorCode::ConfValue, what).hint("rename it: letters, digits, '-', '_' and '.'")
    })?;
    Ok((name, content))
}

/// Tokens of a Secret, else those that this process was given. A keytab that is sent comes before both, as upstream.
fn tokens(look: &mut Look<'_>, has_keytab: bool, keytab_is_sent: bool) -> bool {
    let existing = look.object(TOKEN_SECRET_KEY).map(Source::Existing).zip(look.text(TOKEN_ITEM_KEY));
    if keytab_is_sent {
        if existing.is_some() {
            look.findings.warn(format!("{TOKEN_SECRET_KEY} is not used: the keytab comes first"));
        }
        return false;
    }
    let given = || look.environment.hadoop_token_file.as_deref().filter(|_| !has_keytab);
    let (source, item) = match existing {
        Some(existing) => existing,
        None => match given().map(token_file) {
            Some(Ok(source)) => (source, TOKEN_ITEM),
            Some(Err(error)) => {
                look.findings.problem(error);
                return true;
            }
            None => return false,
        },
    };
    let variable = Some((TOKEN_VARIABLE, format!("{TOKEN_DIRECTORY}/{item}")));
    let place = DriverFiles { variable, ..place("hadoop-secret", Store::Secret, source, TOKEN_DIRECTORY) };
    look.found.files.push(place);
    true
}

fn token_file(path: &Path) -> Result<Source, SubmitError> {
    let content = content(path).map_err(|error| error.hint(format!("${TOKEN_VARIABLE} names it")))?;
    Ok(made("-delegation-tokens", TOKEN_ITEM, content))
}

fn made(suffix: &'static str, name: &str, content: secrecy::SecretSlice<u8>) -> Source {
    Source::Made { suffix, files: FileContents::from([(name.to_owned(), content)]) }
}

fn place(volume: &'static str, store: Store, source: Source, path: &'static str) -> DriverFiles {
    DriverFiles { volume, store, source, path, only: None, variable: None, name_property: None }
}

/// Whether Hadoop's own configuration says so, as far as it is seen from here.
fn is_secured(look: &Look<'_>) -> bool {
    let by_property = look.text(&format!("spark.hadoop.{SECURITY}"));
    by_property
        .map_or_else(|| look.found.files.iter().any(says_secured), |value| value.eq_ignore_ascii_case("kerberos"))
}

fn says_secured(files: &DriverFiles) -> bool {
    let Source::Made { files, .. } = &files.source else { return false };
    let text = files.get("core-site.xml").map(|content| String::from_utf8_lossy(content.expose_secret()));
    let value = text.as_deref().and_then(|text| {
        let (_, after) = text.split_once(&format!("<name>{SECURITY}</name>"))?;
        let (_, value) = after.split_once("<value>")?;
        Some(value.split('<').next().unwrap_or_default().trim().to_owned())
    });
    value.is_some_and(|value| value.eq_ignore_ascii_case("kerberos"))
}
