//! Tests of step 2 over real files: P07, F01, F02, F05, F06, F10, F11.

use super::*;
use shared::report::Failure;
use std::os::unix::ffi::OsStrExt;
use tempfile::TempDir;

/// A directory with files whose content is their name.
fn files(names: &[&str]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in names {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, name).unwrap();
    }
    directory
}

/// Inspects lists of (kind, list), `@` standing for the directory; the first item of kind `App` is the main resource.
fn look_at(directory: &TempDir, lists: &[(MemberKind, &str)]) -> (Inputs, Findings) {
    let mut findings = Findings::default();
    let mut references = Vec::new();
    for (kind, list) in lists {
        let list = list.replace('@', directory.path().to_str().unwrap());
        let items = reference::split_list(&list);
        references.extend(items.into_iter().map(|item| reference::parse(*kind, item).unwrap()));
    }
    let resource = references.iter().position(|reference| reference.kind == MemberKind::App);
    let resource = resource.map(|index| references.remove(index));
    let inputs = inspect(resource.as_ref(), &references, None, &mut findings);
    (inputs, findings)
}

fn accepted(directory: &TempDir, lists: &[(MemberKind, &str)]) -> Inputs {
    let (inputs, findings) = look_at(directory, lists);
    assert!(findings.problems.is_empty(), "{:?}", findings.problems);
    // Whatever is accepted here must be a manifest.
    let members = inputs.members.iter().map(|input| input.member.clone()).collect();
    let launch = shared::manifest::Launch {
        main_class: "M".into(),
        resource: "r".into(),
        arguments: vec![],
        properties: std::collections::BTreeMap::new(),
        options: vec![],
    };
    shared::manifest::Manifest::new(members, launch).unwrap();
    inputs
}

fn problems(directory: &TempDir, lists: &[(MemberKind, &str)]) -> Vec<(ErrorCode, String)> {
    let (_, findings) = look_at(directory, lists);
    findings.problems.iter().map(|problem| (problem.code(), problem.to_string())).collect()
}

fn paths(inputs: &Inputs) -> Vec<String> {
    inputs.members.iter().map(|input| input.member.path()).collect()
}

/// What Spark is told of one kind: bundle path or URI, and alias.
fn listed(inputs: &Inputs, kind: MemberKind) -> Vec<String> {
    let of_kind = inputs.placed.iter().filter(|input| input.kind == kind);
    of_kind
        .map(|input| {
            let place = match &input.place {
                Placed::Member(index) => inputs.members[*index].member.path(),
                Placed::Elsewhere(uri) => uri.clone(),
            };
            input.alias.as_ref().map_or(place.clone(), |alias| format!("{place}#{alias}"))
        })
        .collect()
}

use MemberKind::{App, Archive, File as Plain, Jar, PyFile};

#[test]
fn p07_a_list_is_several_files_and_only_the_missing_one_is_named() {
    let directory = files(&["a.xml", "b.jks"]);
    assert_eq!(paths(&accepted(&directory, &[(Plain, "@/a.xml,, @/b.jks ,")])), ["files/a.xml", "files/b.jks"]);
    let problems = problems(&directory, &[(Plain, "@/a.xml,@/gone.jks")]);
    assert_eq!(problems.len(), 1);
    assert!(problems[0].0 == ErrorCode::InputMissing && problems[0].1.contains("gone.jks"), "{problems:?}");
}

#[test]
fn f01_a_file_is_sent_under_its_alias() {
    let directory = files(&["q-1.sql", "env.tgz", "b.txt"]);
    let inputs = accepted(&directory, &[(Plain, "@/q-1.sql#q.sql,@/b.txt,s3a://b/c#d"), (Archive, "@/env.tgz#env")]);
    assert_eq!(listed(&inputs, Plain), ["files/q.sql", "files/b.txt", "s3a://b/c#d"]);
    assert_eq!(listed(&inputs, Archive), ["archives/env.tgz#env"]);
    assert_eq!(inputs.members[2].member.work_dir_name(), Some("env"));
}

#[test]
fn f01_a_real_hash_in_a_name() {
    let directory = files(&["a#b.txt"]);
    let inputs = accepted(&directory, &[(Plain, "file://@/a%23b.txt")]);
    assert_eq!(paths(&inputs), ["files/a#b.txt"]);
}

#[test]
fn f02_patterns_are_expanded_and_sorted() {
    let directory = files(&["lib/b.jar", "lib/a.jar", "lib/c.txt", "one/x.jar", "odd[1].jar", "lib/sub/d.jar"]);
    assert_eq!(paths(&accepted(&directory, &[(Jar, "@/lib/*.jar")])), ["jars/a.jar", "jars/b.jar"]);
    assert_eq!(paths(&accepted(&directory, &[(Jar, "@/one/*.jar")])), ["jars/x.jar"]);
    assert_eq!(paths(&accepted(&directory, &[(Jar, "@/lib/{b,a}.jar")])), ["jars/b.jar", "jars/a.jar"]);
    assert_eq!(paths(&accepted(&directory, &[(Jar, "@/odd[1].jar")])), ["jars/odd_1_.jar"]);
    let none = problems(&directory, &[(Jar, "@/none/*.jar")]);
    assert!(none[0].0 == ErrorCode::NoMatch && none[0].1.contains("/none/*.jar"), "{none:?}");
    assert_eq!(problems(&directory, &[(Jar, "@/lib")])[0].0, ErrorCode::NotAFile);
    assert_eq!(problems(&directory, &[(Jar, "@/lib/*")])[0].0, ErrorCode::NotAFile);
    assert_eq!(problems(&directory, &[(Jar, "@/lib/{a,z}.jar")])[0].0, ErrorCode::InputMissing);
    assert_eq!(problems(&directory, &[(Plain, "@/lib/*.jar#x")])[0].0, ErrorCode::Usage);
}

#[test]
fn f03_a_windows_path_is_missing_as_typed() {
    let directory = files(&[]);
    let problems = problems(&directory, &[(App, r"C:\jobs\app.jar")]);
    assert!(problems[0].0 == ErrorCode::InputMissing && problems[0].1.contains(r"C:\jobs\app.jar"), "{problems:?}");
}

#[test]
fn f04_what_is_elsewhere_is_not_looked_at_and_keeps_its_place() {
    let directory = files(&["a.jar", "b.jar"]);
    let inputs = accepted(
        &directory,
        &[(App, "local:///opt/none.jar"), (Jar, "@/a.jar,https://h/r.jar,local:///x/l.jar,@/b.jar")],
    );
    assert_eq!(listed(&inputs, Jar), ["jars/a.jar", "https://h/r.jar", "local:///x/l.jar", "jars/b.jar"]);
    assert_eq!(listed(&inputs, App), ["local:///opt/none.jar"]);
    let (_, findings) = look_at(&directory, &[(App, "gone.jar")]);
    assert!(findings.problems[0].hints()[0].contains("local://"));
}

#[test]
fn f05_jars_of_one_name_get_two_and_files_are_refused() {
    let directory = files(&["a/dep.jar", "b/dep.jar", "c/dep.jar", "a/c.conf", "b/c.conf"]);
    let inputs = accepted(&directory, &[(Jar, "@/a/dep.jar,@/b/dep.jar,@/c/dep.jar")]);
    assert_eq!(listed(&inputs, Jar), ["jars/dep.jar", "jars/dep-2.jar", "jars/dep-3.jar"]);
    let problems = problems(&directory, &[(Plain, "@/a/c.conf,@/b/c.conf")]);
    assert_eq!(problems[0].0, ErrorCode::DupName);
    assert!(problems[0].1.contains("/a/c.conf") && problems[0].1.contains("/b/c.conf"), "{problems:?}");
}

#[test]
fn f05_names_meet_across_kinds() {
    let directory = files(&["a/x", "b/x", "c/x", "a/app.jar", "b/app.jar", "a/x.tgz", "b/x.tgz", "A/X"]);
    let dup = |lists: &[(MemberKind, &str)]| {
        assert_eq!(problems(&directory, lists).first().map(|p| p.0), Some(ErrorCode::DupName), "{lists:?}");
    };
    dup(&[(Plain, "@/a/x"), (Archive, "@/b/x")]);
    dup(&[(Plain, "@/a/x"), (Archive, "@/a/x")]);
    dup(&[(Plain, "@/a/x"), (Archive, "@/a/x.tgz#x")]);
    dup(&[(App, "@/a/app.jar"), (Plain, "@/b/app.jar")]);
    dup(&[(Plain, "@/a/x"), (PyFile, "@/b/x")]);
    dup(&[(Plain, "@/a/x,s3a://b/x")]);
    dup(&[(Jar, "https://h/x,https://g/x")]);
    let inputs = accepted(&directory, &[(App, "@/a/app.jar"), (Jar, "@/b/app.jar")]);
    assert_eq!(listed(&inputs, Jar), ["jars/app-2.jar"]);
    let inputs = accepted(&directory, &[(Jar, "@/a/x,https://h/x"), (Plain, "@/b/x#y")]);
    assert_eq!(listed(&inputs, Jar), ["jars/x-2", "https://h/x"], "a remote name cannot be changed, a jar's can");
    let inputs = accepted(&directory, &[(Plain, "@/a/x,@/A/X")]);
    assert_eq!(paths(&inputs), ["files/x", "files/X"], "the driver's file system tells them apart");
    let inputs = accepted(&directory, &[(Archive, "@/a/x.tgz#p,@/b/x.tgz#q")]);
    assert_eq!(listed(&inputs, Archive), ["archives/x.tgz#p", "archives/x-2.tgz#q"]);
}

#[test]
fn f06_one_file_is_sent_once_however_it_is_spelt() {
    let directory = files(&["app.jar", "dep.jar", "x/keep", "m.py"]);
    std::os::unix::fs::symlink("app.jar", directory.path().join("link.jar")).unwrap();
    let list = "@/app.jar,@/dep.jar,@/x/../app.jar,file://@/dep.jar,@/link.jar";
    let inputs = accepted(&directory, &[(App, "@/x/../app.jar"), (Jar, list)]);
    assert_eq!(paths(&inputs), ["app/app.jar", "jars/dep.jar"]);
    assert_eq!(listed(&inputs, Jar), ["jars/dep.jar"], "the main jar is added by spark-submit");
    let inputs =
        accepted(&directory, &[(App, "@/m.py"), (PyFile, "@/m.py"), (Plain, "@/m.py,@/dep.jar"), (Jar, "@/dep.jar")]);
    assert_eq!(paths(&inputs), ["app/m.py", "files/dep.jar"], "several lists, one transfer");
    assert_eq!(listed(&inputs, PyFile), ["app/m.py"]);
    assert_eq!(listed(&inputs, Jar), ["files/dep.jar"]);
}

#[test]
fn f09_a_link_keeps_its_own_name_and_its_targets_bytes() {
    let directory = files(&["v2/app-2.jar"]);
    std::os::unix::fs::symlink("v2/app-2.jar", directory.path().join("app.jar")).unwrap();
    let inputs = accepted(&directory, &[(App, "@/app.jar")]);
    assert_eq!((paths(&inputs)[0].as_str(), inputs.members[0].member.size), ("app/app.jar", 12));
}

#[test]
fn f10_names_at_the_edges_arrive_as_they_are_or_are_refused() {
    let names =
        ["n".repeat(99), "n".repeat(100), "n".repeat(101), "n".repeat(255), "π".repeat(127), "a b'\"%.x".to_owned()];
    for name in &names {
        let directory = files(&[name]);
        for kind in [App, Plain, PyFile, Archive] {
            let inputs = accepted(&directory, &[(kind, &format!("@/{name}"))]);
            assert_eq!(inputs.members[0].member.name, *name);
        }
        accepted(&directory, &[(Jar, &format!("@/{name}"))]);
    }
    for name in ["a[1].x", "a:b", "a*"] {
        let directory = files(&[name]);
        assert_eq!(accepted(&directory, &[(App, &format!("@/{name}"))]).members[0].member.name, name);
        assert_eq!(problems(&directory, &[(Plain, &format!("@/{name}"))])[0].0.exit_status(), 66, "{name:?}");
        accepted(&directory, &[(Plain, &format!("@/{name}#ok"))]);
        accepted(&directory, &[(Jar, &format!("@/{name}"))]);
    }
    for name in ["new\nline", "back\\slash"] {
        let directory = files(&[name]);
        assert_eq!(problems(&directory, &[(Plain, &format!("@/{name}"))])[0].0.exit_status(), 66, "{name:?}");
        accepted(&directory, &[(Plain, &format!("@/{name}#ok"))]);
        accepted(&directory, &[(Jar, &format!("@/{name}"))]);
    }
}

#[test]
fn f10_a_name_that_is_not_utf8_is_refused() {
    let directory = files(&[]);
    std::fs::write(directory.path().join(std::ffi::OsStr::from_bytes(b"a\xff.jar")), "x").unwrap();
    for list in ["@/*.jar", "file://@/a%FF.jar"] {
        let problems = problems(&directory, &[(Jar, list)]);
        assert_eq!(problems[0].0.exit_status(), 66, "{problems:?}");
    }
}

#[test]
fn f05_long_jar_names_stay_within_the_limit_when_numbered() {
    for name in ["π".repeat(125) + ".jar", "a.".to_owned() + &"b".repeat(253), "c".repeat(255)] {
        let directory = files(&[&format!("a/{name}"), &format!("b/{name}")]);
        let inputs = accepted(&directory, &[(Jar, &format!("@/a/{name},@/b/{name}"))]);
        assert!(inputs.members[1].member.name.contains("-2"), "{name}");
    }
}

#[test]
fn f05_a_thousand_jars_of_one_name_are_a_matter_of_moments() {
    let names: Vec<_> = (0..1000).map(|n| format!("{n:04}/dep.jar")).collect();
    let directory = files(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let begin = std::time::Instant::now();
    let inputs = accepted(&directory, &[(Jar, "@/*/dep.jar")]);
    assert_eq!(inputs.members[999].member.name, "dep-1000.jar");
    assert!(begin.elapsed() < std::time::Duration::from_secs(5), "{:?}", begin.elapsed());
}

#[test]
fn f11_every_fault_is_in_one_list() {
    let directory = files(&["dir.jar/x", "a.conf", "b/a.conf"]);
    let lists = [(App, "@/gone.jar"), (Jar, "@/dir.jar,@/lib/*.jar"), (Plain, "@/a.conf,@/b/a.conf")];
    let codes: Vec<_> = problems(&directory, &lists).into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, [ErrorCode::InputMissing, ErrorCode::NotAFile, ErrorCode::NoMatch, ErrorCode::DupName]);
}

#[test]
fn text_files_of_the_conf_directory_travel_as_upstreams_do() {
    let names = [
        "log4j2.properties",
        "spark-defaults.conf",
        "spark.properties",
        "log4j2.properties.template",
        "metrics.properties",
    ];
    let directory = files(&names);
    std::fs::write(directory.path().join("blob"), b"\xff\xfe").unwrap();
    let mut findings = Findings::default();
    let inputs = inspect(None, &[], Some(directory.path()), &mut findings);
    assert_eq!(paths(&inputs), ["conf/log4j2.properties", "conf/metrics.properties"]);
    assert!(findings.warnings.len() == 1 && findings.warnings[0].contains("blob"), "{:?}", findings.warnings);
}
