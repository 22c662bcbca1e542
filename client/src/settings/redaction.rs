//! Which values are never printed (T08): those whose key or value matches the pattern of Spark's `spark.redaction.regex`,
//! `(?i)secret|password|token|access[.]?key`, and a few words more that mean the same.

/// Words, compared without case and without `.`, `-` and `_`.
const WORDS: [&str; 7] = ["secret", "password", "passwd", "token", "accesskey", "apikey", "credential"];

/// What stands in place of a hidden value.
pub const HIDDEN: &str = "*********(redacted)";

/// `value` as it may be printed beside `key`.
#[must_use]
pub fn shown<'a>(key: &str, value: &'a str) -> &'a str {
    if is_secret(key) || is_secret(value) { HIDDEN } else { value }
}

/// Whether `text` names or holds a secret.
#[must_use]
pub fn is_secret(text: &str) -> bool {
    let plain: String = text.chars().filter(|c| !matches!(c, '.' | '-' | '_')).collect::<String>().to_lowercase();
    WORDS.iter().any(|word| plain.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t08_what_sparks_pattern_matches_is_hidden() {
        let secret = [
            "spark.SECRET",
            "a.Password",
            "oauthToken",
            "fs.s3a.access.key",
            "accesskey",
            "AWS_ACCESS_KEY_ID",
            "api-key",
        ];
        for text in secret {
            assert_eq!(shown(text, "v"), HIDDEN, "{text}");
            assert_eq!(shown("spark.a", text), HIDDEN, "{text}");
        }
        assert_eq!(shown("spark.app.name", "my job"), "my job");
    }
}
