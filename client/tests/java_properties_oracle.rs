//! `shared::java_properties` against the JDK that it imitates: a small Java program loads the same files, and the pairs, or
//! the refusal, must be the same. What `write` produces is read back there too. The project requires a JDK, so a machine
//! without one fails here with a clear text.
#![expect(clippy::unwrap_used, clippy::panic, reason = "in tests a panic is the report")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use shared::java_properties;

/// Reads files as lines of hex; prints for each a line with `refused`, or its pairs as hex of UTF-16 units. Keys keep no
/// order in Java, so both sides sort.
const LOADER: &str = r#"
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;

public class Loader {
    static String hex(String text) {
        StringBuilder hex = new StringBuilder();
        for (char unit : text.toCharArray()) hex.append(String.format("%04x", (int) unit));
        return hex.toString();
    }

    static String load(byte[] file) throws IOException {
        Properties properties = new Properties();
        try (Reader reader = new InputStreamReader(new ByteArrayInputStream(file), StandardCharsets.UTF_8)) {
            properties.load(reader);
        } catch (IllegalArgumentException refusal) {
            return "refused";
        }
        TreeSet<String> pairs = new TreeSet<>();
        for (String key : properties.stringPropertyNames())
            pairs.add(hex(key) + "=" + hex(properties.getProperty(key)));
        return String.join(" ", pairs);
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader files = new BufferedReader(new FileReader(arguments[0]));
        PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out)));
        for (String file = files.readLine(); file != null; file = files.readLine())
            out.println(load(HexFormat.of().parseHex(file)));
        out.flush();
    }
}
"#;

fn jdk(program: &str) -> Command {
    let home = std::env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin").join(program));
    Command::new(home.filter(|path| path.exists()).unwrap_or_else(|| program.into()))
}

fn run(mut command: Command) -> String {
    let output = command.output().unwrap_or_else(|error| {
        let program = command.get_program().display();
        panic!("{program} cannot be started: {error}; this test needs a JDK 17 on PATH or in JAVA_HOME")
    });
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What Java makes of each of `texts`.
fn java(texts: &[String]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let line =
        |text: &String| text.bytes().map(|byte| format!("{byte:02x}")).chain(["\n".to_owned()]).collect::<String>();
    std::fs::write(folder.path().join("files"), texts.iter().map(line).collect::<String>()).unwrap();
    std::fs::write(folder.path().join("Loader.java"), LOADER).unwrap();
    let mut compile = jdk("javac");
    compile.arg("-d").arg(folder.path()).arg(folder.path().join("Loader.java"));
    run(compile);
    let mut load = jdk("java");
    load.args(["-Xshare:auto", "-cp"]).arg(folder.path()).arg("Loader").arg(folder.path().join("files"));
    run(load).lines().map(without_halves).collect()
}

/// `line` with halves of surrogate pairs, which Java keeps and Rust's text cannot hold, as U+FFFD.
fn without_halves(line: &str) -> String {
    let text = |hex: &str| {
        let units: Vec<_> = hex
            .as_bytes()
            .chunks(4)
            .map(|unit| u16::from_str_radix(str::from_utf8(unit).unwrap(), 16).unwrap())
            .collect();
        String::from_utf16_lossy(&units)
    };
    if line == "refused" {
        return line.to_owned();
    }
    let pairs = line.split(' ').filter_map(|pair| pair.split_once('='));
    shown(&pairs.map(|(key, value)| (text(key), text(value))).collect())
}

/// What we make of `text`, in the same form.
fn ours(text: &str) -> String {
    match java_properties::parse(text) {
        Ok(pairs) => shown(&pairs.into_iter().collect()),
        Err(_) => "refused".to_owned(),
    }
}

fn shown(pairs: &BTreeMap<String, String>) -> String {
    let hex = |text: &str| text.encode_utf16().map(|unit| format!("{unit:04x}")).collect::<Vec<_>>().concat();
    let mut pairs: Vec<_> = pairs.iter().map(|(key, value)| format!("{}={}", hex(key), hex(value))).collect();
    pairs.sort();
    pairs.join(" ")
}

fn compare(texts: &[String]) {
    let answers = java(texts);
    assert_eq!(answers.len(), texts.len());
    let differing = texts.iter().zip(&answers).filter(|(text, java)| ours(text) != **java);
    let report: Vec<_> =
        differing.map(|(text, java)| format!("{text:?}\n  java {java}\n  ours {}", ours(text))).collect();
    assert!(report.is_empty(), "{} files read differently:\n{}", report.len(), report.join("\n"));
}

fn generate<S: Strategy>(strategy: &S, count: usize) -> Vec<S::Value> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

#[test]
fn p06_awkward_files_by_hand_are_read_as_java_reads_them() {
    let texts = [
        "",
        "\n\r\n\r",
        "a",
        "a=",
        "=b",
        ":",
        " = = ",
        "a b",
        "a\tb",
        "a\u{c}b",
        "a = b ",
        "a:b=c",
        "a==b",
        "a: =b",
        "a =: b",
        "a\\ b=c",
        "a\\=b=c",
        "a\\:b:c",
        "a\\\\=b",
        "a=b\\",
        "a=b\\\\",
        "a=b\\\\\\",
        "\\",
        "\\\n",
        "\\\r",
        "\\\r\n",
        "\\\n\n",
        "\\\n \u{c}",
        "\\\n\\",
        "\\\n#x\na=b",
        "\\\n\\\n#x\\\na=b",
        "a\\\n#x",
        "a=\\udc9a",
        "\\ud83da=\\ude00\\ud83d\\ude00",
        "\\\na=b",
        "a=b\\\n",
        "a=b\\\n  c",
        "a=b\\\r\n\t c",
        "a=b\\\r\r c=d",
        "a=b\\\n\n c=d",
        "a=b\\\n#c\nd=e",
        "a\\\n=b",
        "a\\\n  b=c",
        "a=\\\n=b",
        "a\\\n \\\n b = c",
        "#x\\\na=b",
        "!x\na=b",
        "  # x\na=b",
        " !x",
        "a=#b",
        "a#b=c",
        "a!=b",
        "\\#a=b",
        "\\!a=b",
        "a=\\u0041",
        "a=\\u00e9\\u03c0",
        "a=\\ud83d\\ude00",
        "\\u0061=b",
        "a\\u003db=c",
        "a=\\u12",
        "a=\\u12g4",
        "a=\\u",
        "a=\\uuuu0041",
        "a=\\u+041",
        "a=\\U0041",
        "a=\\u004",
        "a=\\u0041\\u",
        "a=\\u00\\\n41",
        "a=\\u００４１",
        "#\\u12\na=b",
        "# C:\\users\\me\na=1",
        "a=\\t\\n\\r\\f\\b\\a\\z\\0\\\"\\'",
        "\\t=x",
        "\\ a=b",
        "a=\\ b",
        "a=b\\ ",
        "a=\u{a0}b\u{a0}",
        "\u{a0}a=b",
        "a\u{2028}b=c",
        "a=\u{85}b",
        "a=\u{b}b",
        "\u{b}a=b",
        "a=\0b",
        "\0=x",
        "\u{feff}a=b",
        "a=π😀",
        "π=é",
        "a=1\na=2\n",
        "a=1\rb=2\nc=3\r\nd=4",
        "a=1\n\rb=2",
        "spark.d1=\\nblah\nspark.d2=blah\\r\nspark.d3=\\ blah\\f",
    ];
    compare(&texts.map(ToOwned::to_owned));
}

#[test]
fn p06_generated_files_are_read_as_java_reads_them() {
    let piece = prop_oneof![
        4 => Just(r"\".to_owned()),
        3 => "[ \t\x0c]{1,2}",
        3 => prop_oneof!["\n", "\r", "\r\n"],
        3 => "[=:#!]",
        2 => "u[0-9a-fA-F]{0,5}",
        4 => "[a-zA-Z0-9.]{1,3}",
        1 => "\\PC",
        1 => Just("\\u0020".to_owned()),
        1 => any::<char>().prop_map(String::from),
    ];
    let file = prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat());
    compare(&generate(&file, 10_000));
}

#[test]
fn p05_what_is_written_is_read_back_by_java() {
    let text = prop_oneof!["[ =:#!\\\\\n\r\t\x0c]{0,6}", "(?s).{0,10}", "[a-z.]{1,10}"];
    let maps = generate(&prop::collection::btree_map(text.clone(), text, 0..6), 3_000);
    let files: Vec<_> = maps.iter().map(java_properties::write).collect();
    for (map, java) in maps.iter().zip(java(&files)) {
        assert_eq!(shown(map), java, "{:?}", java_properties::write(map));
    }
}
