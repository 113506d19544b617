//! Warnings of the compared runs about their targets, such as a redirect.

use run::Run;

/// Returns the warnings of the compared runs, each once. A warning of a single side names this side.
pub(super) fn warnings(old: &[Run], new: &[Run]) -> Vec<String> {
    let [old, new] = [old, new].map(of_side);
    let mut all = Vec::new();
    for (side, own, other) in [("old", &old, &new), ("new", &new, &old)] {
        for text in own {
            let told = if other.contains(text) { (*text).to_owned() } else { format!("only the {side} side: {text}") };
            if !all.contains(&told) {
                all.push(told);
            }
        }
    }
    all
}

fn of_side(runs: &[Run]) -> Vec<&str> {
    runs.iter().flat_map(|run| &run.notes).filter(|note| note.is_warning).map(|note| note.text.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An earlier version of loadline printed the warnings of both runs only in the reports of the runs.
    #[test]
    fn a_warning_of_both_sides_comes_once_and_a_warning_of_one_side_names_it() {
        let run = |texts: &[&str]| {
            let note = |text: &&str| run::Note { text: (*text).to_owned(), is_warning: true };
            let plain = run::Note { text: "no warning".into(), is_warning: false };
            vec![Run { notes: texts.iter().map(note).chain([plain]).collect(), ..Run::default() }]
        };
        let found = warnings(&run(&["answers are plain"]), &run(&["answers are plain", "the target redirects"]));
        assert_eq!(found, ["answers are plain", "only the new side: the target redirects"]);
    }
}
