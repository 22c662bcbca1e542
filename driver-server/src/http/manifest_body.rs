//! The manifest's JSON, parsed as hostile, with refusals that never repeat what it holds: arguments and property values
//! are secrets to us. The rules of a manifest are those of `shared::manifest`.

use serde::Deserialize as _;
use serde_json::error::Category;
use shared::error_code::ErrorCode;
use shared::manifest::Manifest;

use crate::error::Refusal;

/// Parses `text`, the whole of it.
pub fn parse(text: &[u8]) -> Result<Manifest, Refusal> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let manifest = Manifest::deserialize(&mut deserializer).map_err(|error| unusable(&error))?;
    let end = deserializer.end();
    end.map_err(|_| Refusal::new(ErrorCode::TrailingData, "bytes follow the end of the manifest"))?;
    Ok(manifest)
}

fn unusable(error: &serde_json::Error) -> Refusal {
    let text = error.to_string();
    let shown = match error.classify() {
        // These messages of serde's repeat the value that they found, before the word `expected`.
        Category::Data if text.starts_with("invalid ") => {
            let expected = text.rfind("expected ").map_or("", |at| &text[at..]);
            format!("a value of another type or length than {expected}")
        }
        _ => text,
    };
    Refusal::new(ErrorCode::Manifest, format!("the manifest cannot be used: {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::report::Failure as _;

    const GOOD: &str =
        r#"{"version":1,"members":[],"launch":{"mainClass":"M","resource":"r","arguments":[],"properties":{}}}"#;

    #[test]
    fn a12_bytes_after_the_manifest_are_refused() {
        assert!(parse(GOOD.as_bytes()).is_ok());
        assert!(parse(format!("{GOOD} \n").as_bytes()).is_ok());
        assert_eq!(parse(format!("{GOOD}{{").as_bytes()).unwrap_err().code(), ErrorCode::TrailingData);
    }

    #[test]
    fn t08_values_are_never_repeated() {
        let spoilt = [
            GOOD.replace("\"arguments\":[]", "\"arguments\":\"CANARY\""),
            GOOD.replace("\"properties\":{}", "\"properties\":{\"k\":[\"CANARY\"]}"),
            GOOD.replace("\"properties\":{}", "\"properties\":\"CANARY expected CANARY\""),
            GOOD.replace("\"arguments\":[]", "\"arguments\":[\"CANARY"),
        ];
        for text in spoilt {
            let refusal = parse(text.as_bytes()).unwrap_err();
            assert_eq!(refusal.code(), ErrorCode::Manifest);
            assert!(!refusal.to_string().contains("CANARY"), "{refusal}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let refusal = parse(GOOD.replace("\"version\":1", "\"version\":7").as_bytes()).unwrap_err();
        assert!(refusal.to_string().contains("protocol version 7"), "{refusal}");
        let refusal = parse(GOOD.replace("\"version\":1", "\"version\":[]").as_bytes()).unwrap_err();
        assert!(refusal.to_string().contains("expected u32 at line 1"), "{refusal}");
    }

    #[test]
    fn u03_deep_json_ends_in_a_refusal() {
        let deep = format!("{{\"members\":{}", "[".repeat(1 << 20));
        assert_eq!(parse(deep.as_bytes()).unwrap_err().code(), ErrorCode::Manifest);
    }
}
