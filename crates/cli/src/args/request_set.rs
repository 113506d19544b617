//! Makes a request set from imported requests, and fills in environment variables.

use anyhow::ensure;
use requests::Imported;
use run::{RequestOrder, RequestSet};

use super::headers::{filled_from_environment, from_environment};

/// Makes a request set. `from` is the origin of the requests, and `order` replaces their order.
///
/// A file that a user wrote by hand may contain placeholders for environment variables (`$env:NAME`). In a recording,
/// placeholders for environment variables are untrusted text. If loadline replaced the placeholders in a recording, it
/// could send the user's secrets to a server that the recording's author chose.
pub(crate) fn set_of(
    imported: Imported,
    from: String,
    order: Option<RequestOrder>,
    secrets: &mut run::Secrets,
) -> anyhow::Result<RequestSet> {
    let by_hand = imported.templates;
    let mut set = requests::set(imported, from, order);
    if by_hand {
        fill_variables(&mut set, secrets)?;
    }
    Ok(set)
}

/// Replaces each `$env:NAME` in the headers and bodies of a request set by the value of the environment variable
/// `NAME`. A path must not contain a variable, because reports show the paths.
pub(crate) fn fill_variables(set: &mut RequestSet, secrets: &mut run::Secrets) -> anyhow::Result<()> {
    for request in &mut set.requests {
        let path = run::visible(&request.path).into_owned();
        ensure!(
            !path.contains("$env:"),
            "the path {path:?} contains $env:, but loadline replaces variables only in headers and bodies: move the value there"
        );
        for (name, value) in &mut request.headers {
            *value = from_environment(name, value, secrets)?;
        }
        request.body = filled_from_environment(&format!("the body of {path:?}"), &request.body, secrets)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In an earlier version of loadline, variables in bodies were not replaced: the server got the text `$env:PATH`.
    #[test]
    fn variables_are_filled_in_bodies_and_refused_in_paths() {
        let fill = |path: &str, body: &str| {
            let request = run::RequestPlan { path: path.into(), body: body.into(), ..run::RequestPlan::default() };
            let mut set = RequestSet { requests: vec![request], ..RequestSet::default() };
            fill_variables(&mut set, &mut run::Secrets::default()).map(|()| set.requests.remove(0).body)
        };
        assert!(fill("/", "a=$env:PATH").unwrap().starts_with("<redacted:"));
        assert_eq!(fill("/", "a=1").unwrap(), "a=1");
        assert!(fill("/$env:PATH", "").unwrap_err().to_string().contains("headers and bodies"));
        assert!(fill("/x", "$env:LOADLINE_NO_SUCH").unwrap_err().to_string().contains("the body of \"/x\" needs"));
    }
}
