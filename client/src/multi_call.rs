//! One binary under several names, as busybox is: called `spark-submit`, it is `airlock submit`. Tools that start
//! spark-submit by its name find it on their PATH and need no setting of their own. Which words mean what is `cli`'s matter.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Names of spark-submit: Spark's own, and those by which distributions tell versions apart. Airflow starts no others.
const SPARK_SUBMIT: [&str; 3] = ["spark-submit", "spark2-submit", "spark3-submit"];

/// The command line in Airlock's own words; `words` begin with the program's name.
pub fn own_words(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    if words.first().is_some_and(|program| is_spark_submit(program)) {
        words.insert(1, "submit".into());
    }
    words
}

fn is_spark_submit(program: &OsStr) -> bool {
    let name = Path::new(program).file_name();
    name.is_some_and(|name| SPARK_SUBMIT.iter().any(|known| name == OsStr::new(known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(words: &[&str]) -> Vec<OsString> {
        own_words(words.iter().map(OsString::from))
    }

    #[test]
    fn under_the_name_of_spark_submit_every_word_is_submits() {
        for name in ["spark-submit", "/opt/bin/spark3-submit", "./spark2-submit"] {
            assert_eq!(after(&[name, "submit", "-v"]), [name, "submit", "submit", "-v"]);
        }
    }

    #[test]
    fn under_any_other_name_the_words_stay() {
        for name in ["airlock", "/spark-submit/airlock", "spark-submit.sh", ""] {
            assert_eq!(after(&[name, "submit"]), [name, "submit"]);
        }
        assert!(after(&[]).is_empty());
    }
}
