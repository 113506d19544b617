//! Output form of a printed result.

use std::path::Path;

use report::FORMS;

use super::Names;

/// Flags for the output form of a result.
#[derive(clap::Args)]
pub(crate) struct FormArgs {
    /// text, markdown, html or json
    #[arg(
        long,
        value_name = "FORM",
        default_value = "text",
        value_parser = Names::AnswerForms,
        hide_possible_values = true
    )]
    form: String,
    /// Same as --form json
    #[arg(long, conflicts_with = "form")]
    json: bool,
}

impl FormArgs {
    /// Returns the name of the chosen output form.
    pub(crate) fn name(&self) -> &str {
        if self.json { "json" } else { &self.form }
    }
}

/// Returns the output form: the requested form, otherwise the form that belongs to the ending of the output file's
/// name. Without a file or an ending, returns text. Fails for an ending that belongs to none of the `known` forms.
pub(crate) fn form_of_file<'a>(
    requested: Option<&'a str>,
    file: Option<&Path>,
    known: &[&str],
) -> anyhow::Result<&'a str> {
    if let Some(form) = requested {
        return Ok(form);
    }
    let Some(ending) = file.and_then(Path::extension).map(|ending| ending.to_string_lossy().to_lowercase()) else {
        return Ok("text");
    };
    // Some programs shorten the ending of HTML files.
    let extension = if ending == "htm" { "html" } else { ending.as_str() };
    let mut forms = FORMS.iter().filter(|form| known.contains(&form.name));
    forms.find(|form| form.extension == extension).map(|form| form.name).ok_or_else(|| {
        let endings: Vec<String> = FORMS
            .iter()
            .filter(|form| known.contains(&form.name))
            .map(|form| format!(".{} ({})", form.extension, form.name))
            .collect();
        anyhow::anyhow!(
            "no form of a report has the ending .{ending}: name a file that ends with {}, or give --form",
            endings.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_of_the_file_chooses_the_form() {
        let all: Vec<&str> = FORMS.iter().map(|form| form.name).collect();
        let of = |requested, file: &str, known: &[&str]| {
            form_of_file(requested, Some(Path::new(file)), known).map_err(|error| error.to_string())
        };
        for form in FORMS {
            assert_eq!(of(None, &format!("a.b/r.{}", form.extension), &all), Ok(form.name));
        }
        assert_eq!((of(None, "r.HTM", &all), of(None, "/dev/stdout", &all)), (Ok("html"), Ok("text")));
        assert_eq!(of(Some("csv"), "r.html", &all), Ok("csv"));
        assert_eq!(form_of_file(None, None, &all).unwrap(), "text");
        let unknown = of(None, "r.pdf", &all).unwrap_err();
        assert!(
            unknown.contains(".pdf") && unknown.contains(".html (html)") && unknown.contains("--form"),
            "{unknown}"
        );
        let fewer = of(None, "r.csv", &report::ANSWER_FORMS).unwrap_err();
        assert!(fewer.contains(".md (markdown)") && !fewer.contains("(csv)"), "{fewer}");
    }
}
