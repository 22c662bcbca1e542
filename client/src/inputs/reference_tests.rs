//! Tests of `reference`: P07, F01, F03, F04.

use super::*;
use proptest::prelude::*;

const KINDS: [MemberKind; 5] =
    [MemberKind::App, MemberKind::Jar, MemberKind::File, MemberKind::PyFile, MemberKind::Archive];

fn here(kind: MemberKind, text: &str) -> PathBuf {
    match parse(kind, text).unwrap().place {
        InputPlace::Here(path) => path,
        InputPlace::Elsewhere(uri) => panic!("{text} is elsewhere: {uri}"),
    }
}

fn elsewhere(kind: MemberKind, text: &str) -> String {
    match parse(kind, text).unwrap().place {
        InputPlace::Elsewhere(uri) => uri,
        InputPlace::Here(path) => panic!("{text} is here: {}", path.display()),
    }
}

fn code(kind: MemberKind, text: &str) -> ErrorCode {
    parse(kind, text).unwrap_err().code()
}

#[test]
fn p07_items_are_trimmed_and_empty_ones_left_out() {
    assert_eq!(split_list("a.xml,,b.jks,"), ["a.xml", "b.jks"]);
    assert_eq!(split_list(" a , b\t,\n"), ["a", "b"]);
    assert!(split_list(" , ,").is_empty() && split_list("").is_empty());
    assert_eq!(split_list("one"), ["one"]);
}

#[test]
fn f02_a_comma_in_braces_is_not_the_lists() {
    assert_eq!(split_list("lib/{a,b}.jar,c"), ["lib/{a,b}.jar", "c"]);
    assert_eq!(split_list("a{b,c"), ["a{b", "c"]);
    assert_eq!(split_list("a},b"), ["a}", "b"]);
}

#[test]
fn f01_the_last_hash_splits_path_and_alias() {
    let reference = parse(MemberKind::File, "q#1.sql#q.sql").unwrap();
    assert_eq!(reference.alias.as_deref(), Some("q.sql"));
    assert_eq!(reference.place, InputPlace::Here("q#1.sql".into()));
    assert_eq!(reference.text, "q#1.sql#q.sql");
}

#[test]
fn f01_a_percent_encoded_hash_is_a_letter() {
    let reference = parse(MemberKind::File, "file:///data/a%23b.txt").unwrap();
    assert_eq!((reference.place, reference.alias), (InputPlace::Here("/data/a#b.txt".into()), None));
}

#[test]
fn f01_empty_and_leading_aliases_are_refused() {
    for alias in ["", "a/b", "..", ".", "a\\b", "a b", "a\nb", "a%b", "π"] {
        let text = format!("a.txt#{alias}");
        let result = parse(MemberKind::Archive, &text);
        if alias == "π" {
            assert!(result.is_ok(), "letters of any language are fine");
            continue;
        }
        assert_eq!(result.unwrap_err().code(), ErrorCode::Usage, "{alias:?}");
    }
}

#[test]
fn f01_jars_and_main_resources_have_no_alias() {
    assert_eq!(here(MemberKind::Jar, "a#b.jar"), PathBuf::from("a#b.jar"));
    assert_eq!(here(MemberKind::App, "a#b.jar"), PathBuf::from("a#b.jar"));
}

#[test]
fn f01_an_alias_of_a_remote_file_is_kept_apart() {
    let reference = parse(MemberKind::Archive, "s3a://b/env.tgz#env").unwrap();
    assert_eq!(reference.place, InputPlace::Elsewhere("s3a://b/env.tgz".into()));
    assert_eq!(reference.alias.as_deref(), Some("env"));
}

#[test]
fn f03_what_looks_like_windows_is_a_path() {
    for kind in KINDS {
        assert_eq!(here(kind, r"C:\jobs\app.jar"), PathBuf::from(r"C:\jobs\app.jar"));
        assert_eq!(here(kind, "c:/jobs/app.jar"), PathBuf::from("c:/jobs/app.jar"));
    }
}

#[test]
fn f03_path_or_uri() {
    let jar = MemberKind::Jar;
    for (text, path) in [
        ("a.jar", "a.jar"),
        ("./foo:bar.jar", "./foo:bar.jar"),
        ("a%20b.jar", "a%20b.jar"),
        ("file:/x/a.jar", "/x/a.jar"),
        ("FILE:///x/a%20b.jar", "/x/a b.jar"),
        ("file://localhost/x", "/x"),
        ("1a:b", "1a:b"),
    ] {
        assert_eq!(here(jar, text), PathBuf::from(path), "{text}");
    }
    for text in ["file:x", "file://host/x", "file:", "file:///a%zz", "file:///a%", "file:///a%00b", "foo:bar.jar"] {
        assert_eq!(code(jar, text), ErrorCode::Scheme, "{text}");
    }
}

#[test]
fn f04_one_table_for_every_kind() {
    for kind in KINDS {
        for text in ["local:///opt/x.jar", "s3a://b/x.jar", "https://h/x.jar", "hdfs:///x.jar", "gs://b/x"] {
            assert_eq!(elsewhere(kind, text), text);
        }
        assert_eq!(elsewhere(kind, "HTTPS://h/X.jar"), "https://h/X.jar");
        for text in ["spark://h/x.jar", "ivy://a:b:c", "jar:file:/x!/y", "s3a://b/a b.jar"] {
            assert_eq!(code(kind, text), ErrorCode::Scheme, "{text}");
        }
    }
    assert_eq!(elsewhere(MemberKind::App, NO_RESOURCE), NO_RESOURCE);
    assert_eq!(here(MemberKind::Jar, NO_RESOURCE), PathBuf::from(NO_RESOURCE));
}

proptest! {
    #[test]
    fn f03_any_text_is_read_or_refused(text in "(file:|s3a:|local:)?\\PC{0,20}") {
        for kind in KINDS {
            if let Ok(reference) = parse(kind, &text) {
                prop_assert_eq!(reference.text, text.clone());
            }
        }
    }

    #[test]
    fn p07_lists_lose_nothing(items in prop::collection::vec("[a-z./#]{1,8}", 0..6)) {
        let list = items.join(" ,, ");
        prop_assert_eq!(split_list(&list), items);
    }
}
