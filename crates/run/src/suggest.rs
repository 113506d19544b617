//! Suggestions for misspelt words, such as keys of a plan, names in tables, and IDs.

/// Returns the candidate that is closest to a misspelt word, if it is close enough. The candidate is close enough if at
/// most n/3 + 1 letters must change, where n is the length of the misspelt word. A candidate is also close enough if it
/// contains the misspelt word, or if the misspelt word contains the candidate.
pub fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if wrong.trim().is_empty() {
        return None;
    }
    let wrong = wrong.to_lowercase().replace('-', "_");
    let rated = candidates.into_iter().map(|c| (edits(&wrong, &c.to_lowercase().replace('-', "_")), c));
    let (distance, best) = rated.min_by_key(|(distance, _)| *distance)?;
    let contained = best.len() >= 3 && (best.contains(wrong.as_str()) || wrong.contains(best));
    (distance <= 1 + wrong.len() / 3 || contained).then_some(best)
}

/// Returns the Levenshtein distance of two texts, in which swapping two neighbouring characters counts as one edit.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let changed = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + changed);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(rows[i - 2][j - 2] + 1);
            }
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// Turns an error of the TOML parser into one sentence: position, error, closest valid key.
pub fn toml_message(text: &str, error: &toml::de::Error) -> String {
    let place = error.span().map_or(String::new(), |span| place(text, span.start));
    format!("{place}{}", add_suggestion(error.message()))
}

/// Adds the closest valid name to serde's message about a wrong key or name. A message about anything but a key or name
/// is put on one line, and Rust types in it get names that a user knows.
pub fn add_suggestion(message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.split_first() {
        Some((wrong, right)) if message.starts_with("unknown field") || message.starts_with("unknown variant") => {
            let what = if message.starts_with("unknown field") { "key" } else { "name" };
            let near = nearest(wrong, right.iter().copied()).map(|n| format!("; did you mean `{n}`?"));
            let near = near.unwrap_or_else(|| format!("; possible here: {}", right.join(", ")));
            format!("there is no {what} `{wrong}`{near}")
        }
        _ => in_words(message).unwrap_or_else(|| message.replace('\n', " ")),
    }
}

/// Names of types in serde's messages, each with a name that a user knows.
const TYPES: &[(&str, &str)] = &[
    ("a string", "a text"),
    ("a sequence", "a list"),
    ("a map", "a table"),
    ("a boolean", "true or false"),
    ("f64", "a number"),
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number from 0 to 65535"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number that is not negative"),
    ("usize", "a whole number that is not negative"),
    ("i64", "a whole number"),
];

/// Rewrites serde's message about a value of a wrong type, with words instead of the names of Rust types. Returns
/// `None` for any message that is not about a wrong type or value.
fn in_words(message: &str) -> Option<String> {
    let wrong = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "))?;
    let (found, expected) = wrong.rsplit_once(", expected ")?;
    let known = TYPES.iter().find(|(name, _)| *name == expected).map(|(_, words)| *words);
    let expected = match expected {
        _ if expected.starts_with("struct ") => "a table",
        other => known.unwrap_or(other),
    };
    Some(format!("found {found}, expected {expected}").replace('\n', " "))
}

fn place(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
    let table = before.lines().rev().find_map(|l| l.trim().strip_prefix('[').and_then(|l| l.split(']').next()));
    let table = table.map(|t| t.trim_matches('[')).filter(|t| !t.is_empty());
    let table = table.map_or(String::new(), |t| format!(" in [{t}]"));
    format!("line {line}, column {column}{table}: ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;

    #[test]
    fn the_nearest_word_is_found_and_far_ones_are_not_guessed() {
        assert_eq!(nearest("conections", ["connections", "pipeline"]), Some("connections"));
        assert_eq!(nearest("", ["T", "p99"]), None, "an empty word is near to none");
        assert_eq!(nearest("duratoin_s", ["duration_s", "drain_s"]), Some("duration_s"));
        assert_eq!(nearest("server_cpu", ["server-cpu", "client-cpu"]), Some("server-cpu"));
        assert_eq!(nearest("xyzzy", ["connections", "pipeline"]), None);
    }

    #[test]
    fn a_wrong_key_is_named_with_place_and_cure() {
        let text = "[load]\nthreads = 2\nduratoin_s = 3\n";
        let error = Plan::from_toml("plan.toml", text).unwrap_err().to_string();
        assert!(error.contains("plan.toml: line 3, column 1 in [load]"), "{error}");
        assert!(error.contains("`duratoin_s`; did you mean `duration_s`?"), "{error}");
    }

    #[test]
    fn a_wrong_key_inside_an_intensity_is_named_too() {
        let text = "[load.intensity]\nloop = \"closed\"\nconections = 3\n";
        let error = Plan::from_toml("p.toml", text).unwrap_err().to_string();
        assert!(error.contains("did you mean `connections`?"), "{error}");
        let text = "[load.intensity]\nloop = \"closd\"\n";
        let error = Plan::from_toml("p.toml", text).unwrap_err().to_string();
        assert!(error.contains("did you mean `closed`?"), "{error}");
    }

    #[test]
    fn broken_toml_keeps_its_place() {
        let error = Plan::from_toml("p.toml", "[load]\nthreads = = 2\n").unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }
}
