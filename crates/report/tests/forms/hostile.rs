//! Tests of names that contain markup or invisible characters: they stay text in every form.

use loadline_report::FORMS;

use crate::{common, made};

#[test]
fn hostile_names_stay_text() {
    for form in FORMS.iter().filter(|f| f.name != "json") {
        let text = made(form.name, &common::awkward());
        assert!(!text.contains('\u{1b}'), "{} lets an escape through", form.name);
    }
    let html = made("html", &common::awkward());
    assert!(html.matches("<script").count() == 1 && !html.contains("alert('x')"), "there is one script, which is ours");
}

/// Returns a run in which all names and sentences begin with `text`.
fn planted(text: &str) -> run::Run {
    fn plant(value: &mut serde_json::Value, text: &str) {
        match value {
            serde_json::Value::Object(fields) => fields.values_mut().for_each(|v| plant(v, text)),
            serde_json::Value::Array(items) => items.iter_mut().for_each(|v| plant(v, text)),
            serde_json::Value::String(s) if s.starts_with("~") => s.replace_range(..1, text),
            _ => {}
        }
    }
    let mut run = common::find();
    run.command.insert(0, '~');
    run.notes.iter_mut().for_each(|n| n.text.insert(0, '~'));
    run.hosts.iter_mut().for_each(|h| h.name.insert(0, '~'));
    run.findings.bottleneck.sentence.insert(0, '~');
    run.findings.bottleneck.evidence.iter_mut().for_each(|e| e.text.insert(0, '~'));
    run.trials.iter_mut().for_each(|t| t.label.insert(0, '~'));
    run.trials.iter_mut().for_each(|t| t.server = Some(common::with_stack("~main;work")));
    let mut value = serde_json::to_value(run).unwrap();
    plant(&mut value, text);
    serde_json::from_value(value).unwrap()
}

#[test]
fn invisible_characters_are_written_out_in_every_form() {
    let hostile = ["\u{202e}", "\u{2066}", "\u{200b}", "\u{feff}", "\u{ad}", "\u{e0041}", "\u{9b}31m", "\u{2028}"];
    for text in hostile {
        let run = planted(text);
        for form in FORMS {
            let made = made(form.name, &run);
            assert!(!made.contains(text.chars().next().unwrap()), "{} lets {text:?} through", form.name);
        }
        let back: run::Run = serde_json::from_str(&made("json", &run)).unwrap();
        assert_eq!(back.command, run.command, "json keeps the value");
    }
    assert!(made("text", &planted("\u{202e}")).contains(r"\u{202e}"));
}
