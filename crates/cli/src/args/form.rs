//! Output form of a printed result.

/// Flags for the output form of a result.
#[derive(clap::Args)]
pub(crate) struct FormArgs {
    /// text, markdown, html or json
    #[arg(long, value_name = "FORM", default_value = "text")]
    form: String,
    /// Same as --form json
    #[arg(long)]
    json: bool,
}

impl FormArgs {
    /// Returns the name of the chosen output form.
    pub(crate) fn name(&self) -> &str {
        if self.json { "json" } else { &self.form }
    }
}
