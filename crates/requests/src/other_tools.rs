//! Files of other tools that hold requests in a form that loadline does not read. The content shows which tool wrote a
//! file. A message names the file's kind and says how to get requests that loadline reads.

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use crate::row::MAX_LINES_LOOKED_AT;

/// A kind of file that another tool reads.
struct Kind {
    /// Name of the kind with "a" or "an", such as `a k6 script`.
    name: &'static str,
    /// Advice for the user.
    advice: &'static str,
    /// Returns true if one of the first lines of a text shows this kind of file.
    has_line: fn(&str) -> bool,
    /// Returns true if a member of the outermost JSON object shows this kind of file.
    has_member: fn(&str, &Value) -> bool,
}

/// Members of the outermost JSON object that show a kind.
const MEMBERS: [&str; 4] = ["info", "__export_format", "openapi", "swagger"];

const KINDS: &[Kind] = &[
    Kind {
        name: "a Postman collection",
        advice: "copy its requests as cURL (in Postman: Code, then cURL) into one file, and give that file",
        has_line: |_| false,
        has_member: |key, value| {
            key == "info" && (value.get("_postman_id").is_some() || text_at(value, "schema").contains("postman.com/"))
        },
    },
    Kind {
        name: "an Insomnia export",
        advice: "copy its requests as curl (in Insomnia: Copy as cURL) into one file, or export them as HAR, and give that file",
        has_line: |line| line.starts_with("type: ") && line.contains("insomnia.rest/"),
        has_member: |key, _| key == "__export_format",
    },
    Kind {
        name: "an OpenAPI document",
        advice: "it describes requests without their values, so write requests to its paths as curl command lines or TOML, or \
                 save the requests of a browser or client as a HAR file, and give that file",
        has_line: |line| ["openapi:", "swagger:"].into_iter().any(|key| line.strip_prefix(key).is_some_and(is_version)),
        has_member: |key, value| (key == "openapi" || key == "swagger") && value.as_str().is_some_and(is_version),
    },
    Kind {
        name: "a k6 script",
        advice: "loadline runs no scripts, so write its requests as curl command lines or TOML, or give the HAR file from \
                 which the script was made",
        has_line: names_k6_module,
        has_member: |_, _| false,
    },
    Kind {
        name: "a Lua script of wrk",
        advice: "loadline runs no scripts, so write its requests as curl command lines or TOML, and give that file",
        has_line: |line| line.trim_start().starts_with("wrk.") || line.contains("wrk.format("),
        has_member: |_, _| false,
    },
    Kind {
        name: "a log in the W3C form (IIS)",
        advice: "write its lines as JSON with the fields time, method, path and status and give that file with --replay, or \
                 write its requests as curl command lines",
        has_line: |line| line.starts_with("#Fields:") && line.contains("cs-uri-stem"),
        has_member: |_, _| false,
    },
    Kind {
        name: "a JMeter test plan",
        advice: "write its requests as curl command lines or TOML, or save the requests of a browser or client as a HAR file, \
                 and give that file",
        has_line: |line| line.contains("<jmeterTestPlan"),
        has_member: |_, _| false,
    },
];

/// Returns the message about a file of another tool. `text` is the file, or its beginning. Returns `None` for a file
/// that no other tool is known to write.
pub(crate) fn message(text: &str) -> Option<String> {
    let lines = || text.lines().take(MAX_LINES_LOOKED_AT);
    let by_line = KINDS.iter().find(|kind| lines().any(kind.has_line));
    let Kind { name, advice, .. } = by_line.or_else(|| by_members(text))?;
    Some(format!("it is {name}, which loadline does not read: {advice} (`loadline list formats` shows all forms)"))
}

/// Returns the kind of a text that begins with a JSON object.
fn by_members(text: &str) -> Option<&'static Kind> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let mut members = Members(None);
    // If the text was cut off, the call returns an error, but only after all complete members were examined.
    let _ = serde_json::Deserializer::from_str(text).deserialize_map(&mut members);
    members.0
}

/// Examines the members of the outermost JSON object.
struct Members(Option<&'static Kind>);

impl<'de> Visitor<'de> for &mut Members {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if !MEMBERS.contains(&key.as_str()) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value: Value = map.next_value()?;
            self.0 = self.0.or(KINDS.iter().find(|kind| (kind.has_member)(&key, &value)));
        }
        Ok(())
    }
}

/// Returns true if a line of a script loads a module of k6, such as `import http from 'k6/http'`.
fn names_k6_module(line: &str) -> bool {
    let quoted = |quote: char| line.split(quote).skip(1).step_by(2).any(|text| text == "k6" || text.starts_with("k6/"));
    let loads = line.starts_with("import ") || line.starts_with("} from ") || line.contains("require(");
    loads && (quoted('\'') || quoted('"'))
}

/// Returns the text of a member of an object; empty if there is none.
fn text_at<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns true if a text begins like a version, in quotes or not.
fn is_version(text: &str) -> bool {
    text.trim_start_matches([' ', '"', '\'']).starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::{ReplayOptions, read_text, replay};

    const POSTMAN: &str = r#"{"item":[{"name":"a","request":{"method":"GET","url":"http://h/"}}],
        "info":{"name":"x","schema":"https://schema.getpostman.com/json/collection/v2.1.0/collection.json"}}"#;
    const YAML: &str = "# our API\nopenapi: '3.0.3'\ninfo:\n  title: x\npaths:\n  /pets:\n    get:\n";
    const K6: &str = "/*\n * a test\n */\nimport { check } from 'k6';\nimport http from \"k6/http\";\n";
    const IIS: &str = "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n\
        #Fields: date time cs-method cs-uri-stem sc-status\n2026-11-26 10:00:00 GET / 200\n";
    const JMETER: &str =
        "<?xml version=\"1.0\"?>\n<jmeterTestPlan version=\"1.2\">\n  <hashTree>\n</hashTree></jmeterTestPlan>\n";

    /// An earlier version read the paths of an OpenAPI document in YAML as a list of URLs.
    #[test]
    fn files_of_other_tools_are_named_wherever_they_are_given() {
        for (text, name) in [
            (POSTMAN, "a Postman collection"),
            (r#"{"info":{"_postman_id":"5","name":"x"},"item":[{"na"#, "a Postman collection"),
            (r#"{"_type":"export","__export_format":4,"resources":[]}"#, "an Insomnia export"),
            ("type: collection.insomnia.rest/5.0\nname: x\n", "an Insomnia export"),
            (YAML, "an OpenAPI document"),
            ("swagger: \"2.0\"\npaths:\n  /pets:\n", "an OpenAPI document"),
            ("{\n  \"openapi\": \"3.1.0\",\n  \"paths\": {\"/pets\": {\"get\": {}}}\n}\n", "an OpenAPI document"),
            (K6, "a k6 script"),
            ("const http = require('k6/http');\n", "a k6 script"),
            ("import {\n  check,\n} from 'k6';\n", "a k6 script"),
            (JMETER, "a JMeter test plan"),
            ("<?xml version=\"1.0\"?><jmeterTestPlan version=\"1.2\"></jmeterTestPlan>", "a JMeter test plan"),
            ("wrk.method = \"POST\"\nwrk.body = \"a\"\n", "a Lua script of wrk"),
            ("request = function()\n  return wrk.format(nil, \"/\")\nend\n", "a Lua script of wrk"),
            (IIS, "a log in the W3C form"),
        ] {
            let requests = read_text("f", text, Path::new("."), None).unwrap_err().to_string();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("requests.txt");
            std::fs::write(&path, text).unwrap();
            let log = replay(&path, &ReplayOptions::default()).unwrap_err().to_string();
            for error in [requests, log] {
                assert!(error.contains(&format!("it is {name}")) && error.contains("give"), "{text}: {error}");
                assert!(error.contains("curl") || error.contains("cURL"), "{error}");
            }
        }
    }

    #[test]
    fn requests_about_other_tools_are_read() {
        for text in [
            "curl -d '{\"openapi\":\"3.0\"}' http://h/\n",
            "{\"method\":\"GET\",\"url\":\"http://h/\"}\n",
            "http://h/?from=k6\nhttp://h/openapi:3\n",
            "[[request]]\npath = \"/openapi\"\nbody = \"import http from 'k6/http'\"\n",
        ] {
            assert!(read_text("f", text, Path::new("."), None).is_ok(), "{text}");
        }
    }
}
