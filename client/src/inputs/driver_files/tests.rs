use super::*;
use crate::settings::driver_files::{Source, Store};
use secrecy::ExposeSecret;

struct Case {
    folder: tempfile::TempDir,
    conf: Vec<String>,
    environment: Environment,
    proxy_user: bool,
}

impl Case {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        Self { folder, conf: vec![], environment: Environment::default(), proxy_user: false }
    }

    /// Adds `KEY=VALUE`, with the folder in place of `FOLDER`.
    fn set(mut self, pair: &str) -> Self {
        self.conf.push(pair.replace("FOLDER", self.folder.path().to_str().unwrap()));
        self
    }

    fn hadoop(mut self, folder: &str) -> Self {
        self.environment.hadoop_conf_dir = Some(self.folder.path().join(folder));
        self
    }

    fn read(&self) -> (Found, Findings) {
        let (mut conf, mut findings) = (SparkConf::default(), Findings::default());
        conf.add_conf(&self.conf, &mut findings);
        let found = read(&conf, &self.environment, self.proxy_user, &mut findings);
        (found, findings)
    }

    fn good(&self) -> Found {
        let (found, findings) = self.read();
        assert!(findings.problems.is_empty(), "{:?}", findings.problems);
        found
    }

    fn problem(&self) -> String {
        let (_, findings) = self.read();
        assert_eq!(findings.problems.len(), 1, "{:?}", findings.problems);
        findings.problems[0].to_string()
    }
}

fn made(files: &DriverFiles) -> Vec<(&str, &[u8])> {
    let Source::Made { files, .. } = &files.source else { panic!("{files:?}") };
    files.iter().map(|(name, content)| (name.as_str(), content.expose_secret())).collect()
}

#[test]
fn credentials_are_sent_and_found_where_a_driver_in_client_mode_looks() {
    let case = Case::new(&[("ca.pem", "CA"), ("token", "t0k\n")])
        .set("spark.kubernetes.authenticate.driver.caCertFile=FOLDER/ca.pem")
        .set("spark.kubernetes.authenticate.driver.oauthTokenFile=FOLDER/token")
        .set("spark.kubernetes.authenticate.driver.mounted.clientKeyFile=/in/pod");
    let found = case.good();
    assert_eq!(made(&found.files[0]), [("ca-cert", &b"CA"[..]), ("oauth-token", b"t0k")]);
    let directory = "/mnt/secrets/spark-kubernetes-credentials";
    for prefix in ["spark.kubernetes.authenticate.driver.mounted", "spark.kubernetes.authenticate"] {
        assert_eq!(found.properties[&format!("{prefix}.caCertFile")], format!("{directory}/ca-cert"));
        assert_eq!(found.properties[&format!("{prefix}.oauthTokenFile")], format!("{directory}/oauth-token"));
        assert_eq!(found.properties[&format!("{prefix}.clientKeyFile")], "/in/pod");
    }
}

#[test]
fn credentials_that_are_in_the_pod_make_no_secret() {
    let case = Case::new(&[]).set("spark.kubernetes.authenticate.driver.mounted.oauthTokenFile=/var/token");
    let found = case.good();
    assert!(found.files.is_empty());
    assert_eq!(found.properties["spark.kubernetes.authenticate.oauthTokenFile"], "/var/token");
}

#[test]
fn t08_a_token_is_in_no_property_and_in_no_message() {
    let case = Case::new(&[("token", "x")])
        .set("spark.kubernetes.authenticate.driver.oauthToken=CANARY")
        .set("spark.kubernetes.authenticate.driver.oauthTokenFile=FOLDER/token");
    let problem = case.problem();
    assert!(problem.contains("both given") && !problem.contains("CANARY"), "{problem}");
    let found = Case::new(&[]).set("spark.kubernetes.authenticate.driver.oauthToken=CANARY").good();
    assert_eq!(made(&found.files[0]), [("oauth-token", &b"CANARY"[..])]);
    assert!(!format!("{found:?}").contains("CANARY"));
}

#[test]
fn hadoops_configuration_is_the_files_of_the_folder() {
    let case = Case::new(&[("conf/core-site.xml", "<a/>"), ("conf/below/x", ""), ("conf/odd name", "")]).hadoop("conf");
    let (found, findings) = case.read();
    assert!(findings.warnings[0].contains("odd name"), "{:?}", findings.warnings);
    let files = &found.files[0];
    assert_eq!(made(files), [("core-site.xml", &b"<a/>"[..])]);
    assert_eq!(files.variable, Some(("HADOOP_CONF_DIR", "/opt/hadoop/conf".to_owned())));
    assert_eq!(files.name_property, Some("spark.kubernetes.executor.hadoopConfigMapName"));
}

#[test]
fn hadoops_configuration_that_cannot_be_had_is_said() {
    let gone = Case::new(&[]).hadoop("gone");
    assert!(gone.read().1.warnings[0].contains("HADOOP_CONF_DIR"));
    assert!(gone.good().files.is_empty());
    let both = Case::new(&[("conf/a", "")]).hadoop("conf").set("spark.kubernetes.hadoop.configMapName=theirs");
    assert!(both.problem().contains("both given"));
    let half = "x".repeat(600_000);
    let large = Case::new(&[("conf/a", &half), ("conf/b", &half)]).hadoop("conf");
    assert!(large.problem().contains("more than a ConfigMap"));
}

#[test]
fn a_keytab_is_sent_and_found_by_its_name() {
    let case = Case::new(&[("me.keytab", "KEY")])
        .set("spark.kerberos.principal=me@REALM")
        .set("spark.kerberos.keytab=FOLDER/me.keytab");
    let found = case.good();
    assert_eq!((found.files[0].store, made(&found.files[0])), (Store::Secret, vec![("me.keytab", &b"KEY"[..])]));
    assert_eq!(found.properties["spark.kerberos.keytab"], "/mnt/secrets/kerberos-keytab/me.keytab");
    let in_image =
        Case::new(&[]).set("spark.kerberos.principal=me").set("spark.kerberos.keytab=local:///etc/me.keytab");
    let found = in_image.good();
    assert!(found.files.is_empty() && found.properties.is_empty());
}

#[test]
fn p04_kerberos_settings_that_contradict_each_other_are_refused() {
    let keytab = || Case::new(&[("k", "x")]).set("spark.kerberos.keytab=FOLDER/k");
    assert!(keytab().problem().contains("without spark.kerberos.principal"));
    let proxy = Case { proxy_user: true, ..keytab().set("spark.kerberos.principal=me") };
    assert!(proxy.problem().contains("--proxy-user"));
    let secret = Case::new(&[]).set("spark.kubernetes.kerberos.tokenSecret.name=tokens");
    assert!(secret.problem().contains("without spark.kubernetes.kerberos.tokenSecret.itemKey"));
    let krb5 = Case::new(&[("k", "")])
        .set("spark.kubernetes.kerberos.krb5.path=FOLDER/k")
        .set("spark.kubernetes.kerberos.krb5.configMapName=theirs");
    assert!(krb5.problem().contains("both given"));
}

#[test]
fn f11_missing_files_are_all_named() {
    let case = Case::new(&[])
        .set("spark.kubernetes.authenticate.driver.caCertFile=FOLDER/gone.pem")
        .set("spark.kubernetes.kerberos.krb5.path=FOLDER/gone.conf")
        .set("spark.kerberos.principal=me")
        .set("spark.kerberos.keytab=FOLDER/gone.keytab");
    let (_, findings) = case.read();
    let text: Vec<_> = findings.problems.iter().map(ToString::to_string).collect();
    assert_eq!(text.len(), 3, "{text:?}");
    for (problem, name) in findings.problems.iter().zip(["gone.pem", "gone.conf", "gone.keytab"]) {
        assert_eq!(problem.code(), ErrorCode::InputMissing);
        assert!(problem.to_string().contains(name), "{problem}");
    }
}

#[test]
fn krb5_conf_is_mounted_by_that_name_whatever_it_is_called_here() {
    let case = Case::new(&[("mine.conf", "[libdefaults]")]).set("spark.kubernetes.kerberos.krb5.path=FOLDER/mine.conf");
    let found = case.good();
    assert_eq!(made(&found.files[0]), [("krb5.conf", &b"[libdefaults]"[..])]);
    assert_eq!((found.files[0].path, found.files[0].only), ("/etc/krb5.conf", Some("krb5.conf")));
}

#[test]
fn tokens_come_from_a_secret_else_from_this_process_and_a_keytab_comes_first() {
    let tokens = |case: &Case| case.good().files.into_iter().find(|files| files.volume == "hadoop-secret");
    let mut case = Case::new(&[("tokens", "T"), ("k", "x")]);
    case.environment.hadoop_token_file = Some(case.folder.path().join("tokens"));
    let given = tokens(&case).unwrap();
    assert_eq!(made(&given), [("hadoop-tokens", &b"T"[..])]);
    assert_eq!(given.variable.unwrap().1, "/mnt/secrets/hadoop-credentials/hadoop-tokens");
    let case = case
        .set("spark.kubernetes.kerberos.tokenSecret.name=theirs")
        .set("spark.kubernetes.kerberos.tokenSecret.itemKey=item");
    let theirs = tokens(&case).unwrap();
    assert!(matches!(&theirs.source, Source::Existing(name) if name.as_str() == "theirs"));
    assert_eq!(theirs.variable.unwrap().1, "/mnt/secrets/hadoop-credentials/item");
    let case = case.set("spark.kerberos.principal=me").set("spark.kerberos.keytab=FOLDER/k");
    assert!(tokens(&case).is_none());
    assert!(case.read().1.warnings[0].contains("the keytab comes first"));
}

#[test]
fn tokens_that_spark_submit_would_fetch_are_missed_aloud() {
    let site = "<configuration><property>\n<name>hadoop.security.authentication</name>\n <value> kerberos </value>";
    let case = Case::new(&[("conf/core-site.xml", site), ("k", "x")]).hadoop("conf");
    assert!(case.read().1.warnings[0].contains("--keytab"), "{:?}", case.read().1.warnings);
    let with_keytab = case.set("spark.kerberos.principal=me").set("spark.kerberos.keytab=FOLDER/k");
    assert!(with_keytab.read().1.warnings.is_empty());
    let by_property = Case::new(&[]).set("spark.hadoop.hadoop.security.authentication=kerberos");
    assert_eq!(by_property.read().1.warnings.len(), 1);
    assert!(Case::new(&[]).read().1.warnings.is_empty());
}
