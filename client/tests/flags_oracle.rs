//! The same command line, the same meaning: Spark's own spark-submit reads flags, `--conf`, properties files and defaults,
//! and hands on properties, main class, resource and arguments; ours must hand on the same, for each flag alone and for
//! combinations by chance. What may differ stands in one list with its reason.
#![expect(clippy::unwrap_used, clippy::panic, reason = "in tests a panic is the report")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use client::error::Findings;
use client::inputs::{Inputs, Placed};
use client::settings::cli::{self, Command, Parsed};
use client::settings::prepare::{Prepared, prepare};
use client::settings::resolve::{Environment, load_conf};
use client::settings::{Language, Settings};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use shared::manifest::MemberKind;

mod spark_jvm;

/// A question is `SPARK_CONF_DIR` and the words of a command line, with NUL between them; the answer one line of JSON.
const ORACLE: &str = r#"
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import org.apache.spark.deploy.*;
import scala.jdk.javaapi.CollectionConverters;

public class FlagsOracle {
    static Map<String, Object> answer(String[] parts) {
        Map<String, String> environment = new HashMap<>();
        if (!parts[0].isEmpty()) environment.put("SPARK_CONF_DIR", parts[0]);
        var words = Arrays.asList(parts).subList(1, parts.length);
        var arguments = new SparkSubmitArguments(
            CollectionConverters.asScala(words).toSeq(), scala.collection.immutable.Map.from(CollectionConverters.asScala(environment)));
        var prepared = new SparkSubmit().prepareSubmitEnvironment(arguments, scala.Option.empty());
        Map<String, String> properties = new TreeMap<>();
        for (var pair : prepared._3().getAll()) properties.put(pair._1(), pair._2());
        return Map.of("child", CollectionConverters.asJava(prepared._1()), "properties", properties);
    }

    public static void main(String[] arguments) throws Exception {
        var out = new java.io.PrintStream(arguments[1], StandardCharsets.UTF_8);
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            Object answer;
            try {
                answer = answer(new String(HexFormat.of().parseHex(line), StandardCharsets.UTF_8).split("\0", -1));
            } catch (Exception refusal) {
                answer = Map.of("refused", refusal.toString());
            }
            out.println(new ObjectMapper().writeValueAsString(answer));
        }
        System.exit(0);
    }
}
"#;

/// Properties in which the two may differ, and why.
const DIFFERENCES: &[(&str, &str)] = &[
    ("spark.blank", "blanks at the ends go here, not only when the driver reads its properties"),
    ("spark.app.submitTime", "set when the launch is made, so that waiting for a prompt or a lock does not count"),
];

/// What only upstream refuses, by its words, and why we do not.
const REFUSED: &[(&str, &str)] = &[(
    "URI scheme is not \"file\"",
    "upstream looks for R packages in jars on this machine, and fails on any that is not",
)];

/// Options, one fragment each: words that belong together. FOLDER is where the inputs lie.
const FRAGMENTS: &[&[&str]] = &[
    &["--name", "My Job π"],
    &["--name=My=Job"],
    &["--jars", "local:///opt/a.jar,https://example.com/b.jar"],
    &["--jars", "FOLDER/one.jar,FOLDER/two.jar,,"],
    &["--jars", "FOLDER/*.jar"],
    &["--files", "local:///etc/a.conf,FOLDER/data.csv#table"],
    &["--files", "file:FOLDER/data.csv"],
    &["--archives", "FOLDER/pack.zip#env,https://example.com/p.tgz#q"],
    &["--py-files", "FOLDER/lib.zip,FOLDER/mod.py,local:///opt/dep.egg"],
    &["--packages", "org.example:a:1.0,org.example:b:2.0", "-c", "spark.jars.ivySettings=FOLDER/ivy.xml"],
    &["--exclude-packages", "org.example:c"],
    &["--repositories", "https://repo.example.com/maven"],
    &["--driver-memory", "2g"],
    &["--driver-cores", "2"],
    &["--driver-java-options", "-Da=b -XX:+UseG1GC"],
    &["--driver-library-path", "/opt/lib"],
    &["--driver-class-path", "/opt/x.jar:/opt/y.jar"],
    &["--executor-memory=3g"],
    &["--executor-cores", "4"],
    &["--num-executors", "5"],
    &["--total-executor-cores", "6"],
    &["--queue", "q"],
    &["--supervise"],
    &["--proxy-user", "bob"],
    &["--conf", "spark.a=b=c"],
    &["-c", "spark.empty="],
    &["--conf", "spark.blank= x "],
    &["--conf", "spark.dup=1", "--conf", "spark.dup=2"],
    &["--conf", "spark.app.name=from conf"],
    &["--conf", "spark.driver.memory=5g"],
    &["--conf", "spark.executor.instances=7"],
    &["--conf", "spark.jars=local:///opt/conf.jar"],
    &["--conf", "spark.files=local:///opt/conf.txt"],
    &["--conf", "spark.submit.pyFiles=local:///opt/conf.py"],
    &["--conf", "spark.archives=local:///opt/conf.zip"],
    &["--conf", "spark.jars.packages=org.example:a:1.0", "-c", "spark.jars.ivySettings=FOLDER/ivy.xml"],
    &["--conf", "not.spark=1"],
    &["--properties-file", "FOLDER/own.properties"],
    &["--properties-file", "FOLDER/own.properties", "--load-spark-defaults"],
    &["--load-spark-defaults"],
    &["--extra-properties-file", "FOLDER/extra.properties", "--extra-properties-file", "FOLDER/more.properties"],
    &["--name", "first", "--name", "last"],
    &["--jars", "local:///opt/first.jar", "--jars=local:///opt/last.jar"],
    &["--verbose"],
    &["-v"],
];

/// What may stand after the options.
const APPLICATIONS: &[&[&str]] = &[
    &["--class", "org.example.Main", "local:///opt/app.jar"],
    &["--class=org.example.Main", "FOLDER/one.jar", "--class", "x", "a b", "", "*", "--conf", "spark.z=1", "-c"],
    &["--class", "org.example.Main", "https://example.com/app.jar", "--", "-v"],
    &["--class", "org.example.Main", "spark-internal", "--help", "--version"],
    &["local:///opt/main.py", "--name", "not ours"],
    &["FOLDER/mod.py", "$(id)", "ü"],
    &["local:///opt/main.R", "x"],
];

const FOLDERS: [bool; 2] = [false, true];

/// Which options, which application, and whether there is a folder with defaults.
type Set = (BTreeSet<usize>, usize, bool);

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &[u8]| std::fs::write(folder.path().join(name), text).unwrap();
        for name in ["one.jar", "two.jar", "data.csv", "pack.zip", "lib.zip", "mod.py"] {
            write(name, &zip());
        }
        // Upstream resolves packages before it submits, too: from this folder.
        let pattern = format!("{}/[module]-[revision].[ext]", folder.path().display());
        let resolver = format!("<filesystem name='here'><artifact pattern='{pattern}'/></filesystem>");
        let settings = "<ivysettings><settings defaultResolver='here'/><resolvers>RESOLVER</resolvers></ivysettings>";
        write("ivy.xml", settings.replace("RESOLVER", &resolver).as_bytes());
        for name in ["a-1.0.jar", "b-2.0.jar"] {
            write(name, &zip());
        }
        write("extra.properties", b"spark.own extra\nspark.extra 1\nspark.default extra\n");
        write("more.properties", b"spark.extra more\nspark.more 1\n");
        write("own.properties", b"spark.own 1\nspark.dup file\nspark.executor.cores 9\nother x\n");
        std::fs::create_dir(folder.path().join("conf")).unwrap();
        write(
            "conf/spark-defaults.conf",
            b"spark.default 1\nspark.own default\nspark.driver.cores 8\nspark.master local\n",
        );
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn words(&self, set: &Set) -> Vec<String> {
        let fixed = [
            "--master",
            "k8s://https://h:6443",
            "--deploy-mode",
            "cluster",
            "-c",
            "spark.kubernetes.container.image=i",
        ];
        let options = set.0.iter().flat_map(|index| FRAGMENTS[*index]);
        let words = fixed.iter().chain(options).chain(APPLICATIONS[set.1]);
        words.map(|word| word.replace("FOLDER", &self.path().display().to_string())).collect()
    }
}

/// An empty archive.
fn zip() -> Vec<u8> {
    [&b"PK\x05\x06"[..], &[0; 18]].concat()
}

/// A flag stands once on our command line, and twice in a fragment set by chance is no interesting difference.
fn is_possible(set: &Set) -> bool {
    let flags = set.0.iter().filter_map(|index| FRAGMENTS[*index].first());
    let flags: Vec<_> =
        flags.map(|flag| flag.split('=').next().unwrap()).filter(|flag| !["--conf", "-c"].contains(flag)).collect();
    flags.iter().collect::<BTreeSet<_>>().len() == flags.len()
        && !(flags.contains(&"-v") && flags.contains(&"--verbose"))
}

/// Each option alone, each application alone, and combinations by chance, the same ones in every run.
fn sets() -> Vec<Set> {
    let mut sets: Vec<Set> = (0..APPLICATIONS.len()).map(|application| (BTreeSet::new(), application, false)).collect();
    for folder in FOLDERS {
        sets.extend((0..FRAGMENTS.len()).map(|index| ([index].into(), 0, folder)));
    }
    let any = (prop::collection::btree_set(0..FRAGMENTS.len(), 2..10), 0..APPLICATIONS.len(), any::<bool>());
    let mut runner = TestRunner::deterministic();
    let random = std::iter::repeat_with(|| any.new_tree(&mut runner).unwrap().current());
    sets.extend(random.filter(is_possible).take(400));
    sets
}

/// What we hand on, in the shape of the oracle's answer.
fn ours(folder: &Folder, set: &Set) -> Value {
    let words =
        ["airlock", "submit"].into_iter().map(OsString::from).chain(folder.words(set).into_iter().map(OsString::from));
    let Parsed::Run(cli) = cli::parse(words).unwrap() else { panic!("help") };
    let Command::Submit(arguments) = cli.command else { panic!("no submission") };
    let conf_dir = set.2.then(|| folder.path().join("conf"));
    let environment = Environment { spark_conf_dir: conf_dir, ..Environment::default() };
    let conf = load_conf(&arguments, &environment, &mut Findings::default());
    let (prepared, _) = prepare(&arguments, &environment);
    let Prepared { settings, inputs, .. } =
        prepared.unwrap_or_else(|problems| panic!("{set:?}: {}", problems.render("airlock")));
    let mut properties: BTreeMap<_, _> = conf.iter().map(|(key, value)| (key.to_owned(), value.text.clone())).collect();
    properties.insert("spark.app.name".to_owned(), settings.application.name.clone());
    for (key, kind) in [
        ("spark.jars", MemberKind::Jar),
        ("spark.files", MemberKind::File),
        ("spark.archives", MemberKind::Archive),
        ("spark.submit.pyFiles", MemberKind::PyFile),
    ] {
        properties.remove(key);
        let list = places(&inputs, kind);
        if !list.is_empty() {
            properties.insert(key.to_owned(), list.join(","));
        }
    }
    json!({"child": child(&settings, &inputs), "properties": properties})
}

/// The inputs of one kind, where they lie before they are sent.
fn places(inputs: &Inputs, kind: MemberKind) -> Vec<String> {
    let place = |place: &Placed| match place {
        Placed::Member(index) => {
            let input = &inputs.members[*index];
            let is_renamed = kind == MemberKind::File && !input.path.ends_with(&input.member.name);
            let alias = if is_renamed { format!("#{}", input.member.name) } else { String::new() };
            format!("file://{}{alias}", input.path.display())
        }
        Placed::Elsewhere(uri) => uri.clone(),
    };
    let of_kind = inputs.placed.iter().filter(|input| input.kind == kind);
    of_kind
        .map(|input| place(&input.place) + &input.alias.as_ref().map_or(String::new(), |alias| format!("#{alias}")))
        .collect()
}

/// Upstream's hand-over to its submission client.
fn child(settings: &Settings, inputs: &Inputs) -> Vec<String> {
    let application = &settings.application;
    let (resource, class) = match application.language {
        Language::Jvm => ("--primary-java-resource", application.main_class.as_deref().unwrap_or_default()),
        Language::Python => ("--primary-py-file", "org.apache.spark.deploy.PythonRunner"),
        Language::R => ("--primary-r-file", "org.apache.spark.deploy.RRunner"),
    };
    let mut words = Vec::new();
    for place in places(inputs, MemberKind::App).into_iter().filter(|place| place != "spark-internal") {
        words.extend([resource.to_owned(), place]);
    }
    words.extend(["--main-class".to_owned(), class.to_owned()]);
    words.extend(application.arguments.iter().flat_map(|argument| ["--arg".to_owned(), argument.clone()]));
    words.extend(application.proxy_user.iter().flat_map(|user| ["--proxy-user".to_owned(), user.clone()]));
    words
}

/// Upstream writes a local path as `file:/x` or `file:///x`, as it came; an empty list is none; and its main jar stands among
/// the jars, where spark-submit in the pod will put it with us.
fn normal(answer: &str) -> Value {
    let mut answer: Value = serde_json::from_str(&answer.replace("file:///", "file:/")).unwrap();
    let main = answer["child"].get(1).cloned().unwrap_or_default();
    let Some(properties) = answer["properties"].as_object_mut() else { return answer };
    if let Some(jars) = properties.get("spark.jars").and_then(Value::as_str) {
        let others: Vec<_> = jars.split(',').filter(|jar| main != *jar).collect();
        let others = others.join(",");
        properties.insert("spark.jars".to_owned(), others.into());
    }
    properties.retain(|key, value| value != "" || key == "spark.empty");
    answer
}

#[test]
#[ignore = "needs Spark: scripts/images"]
fn p03_a_command_line_means_what_it_means_to_spark_submit() {
    let (folder, sets) = (Folder::new(), sets());
    let question = |set: &Set| {
        let conf = if set.2 { folder.path().join("conf").display().to_string() } else { String::new() };
        [vec![conf], folder.words(set)].concat().join("\0")
    };
    let questions: Vec<_> = sets.iter().map(question).collect();
    let answers = spark_jvm::ask("FlagsOracle", ORACLE, &questions);
    let (mut used, mut wrong) = (BTreeSet::new(), Vec::new());
    for (set, answer) in sets.iter().zip(answers) {
        let (ours, theirs) = (normal(&ours(&folder, set).to_string()), normal(&answer));
        if let Some((line, _)) =
            REFUSED.iter().find(|(line, _)| theirs["refused"].as_str().is_some_and(|text| text.contains(line)))
        {
            used.insert(*line);
            continue;
        }
        if ours["child"] != theirs["child"] {
            wrong.push(format!("ours {}, theirs {}\n    {:?}", ours["child"], theirs, folder.words(set)));
        }
        let keys = |answer: &Value| {
            answer["properties"].as_object().into_iter().flat_map(|map| map.keys().cloned()).collect::<BTreeSet<_>>()
        };
        for key in keys(&ours).union(&keys(&theirs)) {
            let (a, b) = (&ours["properties"][key], &theirs["properties"][key]);
            if a == b {
                continue;
            }
            match DIFFERENCES.iter().find(|(line, _)| line == key) {
                Some((line, _)) => {
                    used.insert(*line);
                }
                None => wrong.push(format!("{key}: ours {a}, theirs {b}\n    {:?}", folder.words(set))),
            }
        }
    }
    let count = wrong.len();
    wrong.truncate(20);
    assert!(wrong.is_empty(), "{count} differences that no line explains:\n{}", wrong.join("\n"));
    let unused: Vec<_> = DIFFERENCES.iter().chain(REFUSED).filter(|(line, _)| !used.contains(line)).collect();
    assert!(unused.is_empty(), "no comparison needs these lines: {unused:?}");
}
