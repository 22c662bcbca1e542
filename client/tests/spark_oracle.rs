//! Rules that we took over from Spark against Spark itself, in the version of the test image: names, sizes, times, the
//! trimming of properties, and the defaults and versions that our table states.
#![expect(clippy::unwrap_used, clippy::panic, reason = "in tests a panic is the report")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use client::error::Findings;
use client::settings::duration::{self, Unit};
use client::settings::memory::{Memory, MemoryError};
use client::settings::names::SubmissionNames;
use client::settings::setting_keys::{self, SETTING_KEYS};
use client::settings::spark_conf::SparkConf;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// Answers lines `QUESTION HEX` with one line of hex each; a refusal is `-`.
const ORACLE: &str = r#"
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.TimeUnit;
import org.apache.spark.deploy.k8s.KubernetesConf;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.util.Utils;

public class Oracle {
    static String answer(String question, String text) throws Exception {
        switch (question) {
            case "prefix": return KubernetesConf.getResourceNamePrefix(text);
            case "label": return KubernetesConf.getAppNameLabel(text);
            case "memory": return String.valueOf(JavaUtils.byteStringAsMb(text));
            case "seconds": return String.valueOf(JavaUtils.timeStringAs(text, TimeUnit.SECONDS));
            case "file":
                StringBuilder pairs = new StringBuilder();
                scala.collection.Iterator<scala.Tuple2<String, String>> i = Utils.getPropertiesFromFile(text).iterator();
                while (i.hasNext()) { var pair = i.next(); pairs.append(pair._1()).append('\0').append(pair._2()).append('\0'); }
                return pairs.toString();
            case "keys":
                Object module = Class.forName(ConfigEntry.class.getName() + "$").getField("MODULE$").get(null);
                Map<?, ?> known = (Map<?, ?>) module.getClass().getMethod("knownConfigs").invoke(module);
                return known.keySet().stream().map(String::valueOf).filter(key -> key.startsWith(text))
                    .collect(java.util.stream.Collectors.joining("\n"));
            case "entry":
                ConfigEntry<?> entry = ConfigEntry.findEntry(text);
                return entry == null ? "" : entry.version() + " " + entry.defaultValueString();
            default: throw new Exception(question);
        }
    }

    public static void main(String[] arguments) throws Exception {
        // The entries exist once their holders are loaded.
        for (String holder : new String[] {"org.apache.spark.deploy.k8s.Config$", "org.apache.spark.internal.config.package$",
                "org.apache.spark.internal.config.UI$", "org.apache.spark.internal.config.Network$"}) Class.forName(holder);
        BufferedReader questions = new BufferedReader(new FileReader(arguments[0]));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            String[] parts = line.split(" ", 2);
            String text = new String(HexFormat.of().parseHex(parts[1]), StandardCharsets.UTF_8);
            String answer;
            try {
                answer = HexFormat.of().formatHex(answer(parts[0], text).getBytes(StandardCharsets.UTF_8));
            } catch (IllegalArgumentException refusal) {
                answer = "-";
            }
            System.out.println(answer);
        }
    }
}
"#;

fn spark_home() -> PathBuf {
    if let Some(home) = std::env::var_os("AIRLOCK_E2E_SPARK_HOME") {
        return home.into();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/spark-home");
    let output = Command::new(&script).output().unwrap();
    assert!(output.status.success(), "this test needs Spark: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().into()
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; this test needs a JDK 17"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What Spark answers to each `text`.
fn ask<S: AsRef<str>>(question: &str, texts: &[S]) -> Vec<Option<String>> {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let lines: Vec<_> = texts.iter().map(|text| format!("{question} {}\n", hex(text.as_ref()))).collect();
    std::fs::write(at("questions"), lines.concat()).unwrap();
    std::fs::write(at("Oracle.java"), ORACLE).unwrap();
    let jars = format!("{}:{}/jars/*", folder.path().display(), spark_home().display());
    run(Command::new("javac").arg("-cp").arg(&jars).arg("-d").arg(folder.path()).arg(at("Oracle.java")));
    let answers = run(Command::new("java").arg("-cp").arg(&jars).arg("Oracle").arg(at("questions")));
    let byte = |digits: &[u8]| u8::from_str_radix(str::from_utf8(digits).unwrap(), 16).unwrap();
    let text = |hex: &str| String::from_utf8(hex.as_bytes().chunks(2).map(byte).collect()).unwrap();
    let answers: Vec<_> = answers.lines().map(|line| (line != "-").then(|| text(line))).collect();
    assert_eq!(answers.len(), texts.len());
    answers
}

fn generate<S: Strategy>(strategy: &S, count: usize) -> Vec<S::Value> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

#[test]
#[ignore = "needs Spark: scripts/images"]
fn p08_names_are_those_of_sparks_own_submit() {
    let mut names = generate(&"[ \\PC]{0,40}", 1_000);
    names.extend(generate(&"[-a-z0-9_.A-Z ]{1,80}", 1_000));
    names.extend(["T_1 %x", "Spark π ✓ Job", "---", "1st", "K\u{212a}", "İx"].map(ToOwned::to_owned));
    let without_id = |prefix: &str| prefix[..prefix.len() - 16].to_owned();
    for ((name, prefix), label) in names.iter().zip(ask("prefix", &names)).zip(ask("label", &names)) {
        let ours = SubmissionNames::new(name, None, &[0xab; 24]);
        assert_eq!(without_id(&ours.prefix), without_id(&prefix.unwrap()), "{name:?}");
        assert_eq!(Some(ours.app_name_label), label, "{name:?}");
    }
}

#[test]
#[ignore = "needs Spark: scripts/images"]
fn sizes_and_times_are_read_as_spark_reads_them() {
    let mut texts = generate(&"[ ]?[0-9]{1,6}[kmgtpbKMGsinhd]{0,3}[ ]?", 2_000);
    texts.extend(generate(&"[0-9]{0,3}[.x -]?[0-9]{0,2}(m|g|s|min|us)?", 500));
    for (text, spark) in texts.iter().zip(ask("memory", &texts)) {
        match text.parse::<Memory>() {
            Ok(memory) => assert_eq!(Some(memory.mib().to_string()), spark, "{text:?}"),
            Err(MemoryError::Form) => assert_eq!(spark, None, "{text:?}"),
            // Ours: no size is less than a MiB or more than any machine has.
            Err(MemoryError::TooSmall) => assert_eq!(spark.as_deref(), Some("0"), "{text:?}"),
            Err(MemoryError::TooLarge) => {}
        }
    }
    for (text, spark) in texts.iter().zip(ask("seconds", &texts)) {
        if let Ok(time) = duration::parse(text, Unit::Seconds) {
            assert_eq!(Some(time.as_secs().to_string()), spark, "{text:?}");
        } else {
            // Ours: no time is zero or less, or longer than a hundred years.
            let seconds = spark.and_then(|spark| spark.parse::<i64>().ok());
            assert!(seconds.is_none_or(|seconds| seconds <= 0 || seconds > 3_000_000_000), "{text:?}");
        }
    }
}

#[test]
#[ignore = "needs Spark: scripts/images"]
fn p06_values_of_a_file_are_trimmed_as_spark_trims_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.conf");
    let blanks = ["\\n", "\\r", "\\ ", "\\f", "\\t", "\\u0001", "\\u00a0", "\\u2003", "\\u001f", "\\u007f", ""];
    let pairs = blanks.iter().flat_map(|a| blanks.iter().map(move |b| (a, b))).enumerate();
    let lines: Vec<_> = pairs.map(|(n, (a, b))| format!("spark.d{n}={a}{b}x y{b}{a}\n")).collect();
    std::fs::write(&path, lines.concat()).unwrap();
    let spark = ask("file", &[path.to_str().unwrap()]).remove(0).unwrap();
    let parts: Vec<&str> = spark.split_terminator('\0').collect();
    let (mut conf, mut findings) = (SparkConf::default(), Findings::default());
    conf.add_file(&path, &mut findings);
    let ours: BTreeMap<_, _> = conf.iter().map(|(key, value)| (key, value.text.as_str())).collect();
    let spark: BTreeMap<_, _> = parts.chunks(2).map(|pair| (pair[0], pair[1])).collect();
    assert_eq!((ours.len(), &ours), (121, &spark));
}

/// On Kubernetes in cluster mode spark-submit puts these in the place of the general defaults.
const OTHER_DEFAULTS: [&str; 3] = ["spark.submit.deployMode", "spark.driver.port", "spark.driver.blockManager.port"];

#[test]
#[ignore = "needs Spark: scripts/images"]
fn the_table_states_sparks_own_defaults_and_versions() {
    let keys: Vec<_> = SETTING_KEYS.iter().filter(|line| !line.name.starts_with("spark.airlock.")).collect();
    let names: Vec<_> = keys.iter().map(|line| line.name).collect();
    let mut wrong = Vec::new();
    for (line, answer) in keys.iter().zip(ask("entry", &names)) {
        let answer = answer.unwrap();
        let Some((version, default)) = answer.split_once(' ') else { continue };
        if line.since != version {
            wrong.push(format!("{} is since {version}, not {}", line.name, line.since));
        }
        if !line.default.is_empty() && line.default != default && !OTHER_DEFAULTS.contains(&line.name) {
            wrong.push(format!("{} is {default:?} by default, not {:?}", line.name, line.default));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "needs Spark: scripts/images"]
fn p04_every_key_that_spark_knows_for_kubernetes_is_in_the_table() {
    let keys = ask("keys", &["spark.kubernetes."]).remove(0).unwrap();
    assert!(keys.lines().count() > 80, "{keys}");
    // Spark 3.5 and 4.0 know it, and do nothing with it.
    let unknown = keys.lines().filter(|key| setting_keys::find(key).is_none() && !key.ends_with("pythonVersion"));
    assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&str>::new());
}
