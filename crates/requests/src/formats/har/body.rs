//! Bodies of HAR entries. A body is recorded as text or as parameters (HAR 1.2, `postData`). A body that was recorded
//! only in part cannot be sent again, so its request is left out.

use serde::Deserialize;

/// Request body as recorded in the file.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PostData {
    pub(super) mime_type: Option<String>,
    text: Option<String>,
    encoding: Option<String>,
    params: Option<Vec<Param>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Param {
    name: String,
    value: Option<String>,
    file_name: Option<String>,
    content_type: Option<String>,
}

/// Returns the body of a request, or the reason why the request is left out. `size` is the recorded size of the body in
/// bytes, negative if it is unknown.
pub(super) fn of(
    method: &str,
    headers: &[(String, String)],
    data: Option<PostData>,
    size: Option<i64>,
) -> Result<Vec<u8>, String> {
    let header = |wanted: &str| headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, v)| &**v);
    let stated = header("content-length").and_then(|value| value.trim().parse::<u64>().ok());
    let size = stated.or_else(|| size.and_then(|size| u64::try_from(size).ok()));
    let PostData { mime_type, text, encoding, params } = data.unwrap_or_default();
    let recorded_as = mime_type.unwrap_or_default();
    let sent_as = header("content-type").unwrap_or(&recorded_as);
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        let body = match encoding.as_deref() {
            Some("base64") => run::from_base64(&text).ok_or("with a body that cannot be read")?,
            _ => text.into_bytes(),
        };
        return match stated.is_none_or(|size| size == body.len() as u64) {
            true => Ok(body),
            false => Err("with a body whose recorded text is not as long as its Content-Length".into()),
        };
    }
    if let Some(params) = params.filter(|params| !params.is_empty()) {
        return match boundary(sent_as) {
            _ if params.iter().any(|param| param.value.is_none() && param.file_name.is_some()) => {
                Err("with a file whose content was not recorded".into())
            }
            None if kind(&recorded_as).starts_with("multipart/") => {
                Err("with parts whose boundary the Content-Type does not name".into())
            }
            Some(boundary) => Ok(multipart(&params, boundary)),
            None if kind(sent_as) == "application/x-www-form-urlencoded" || sent_as.is_empty() => {
                Ok(url_encoded(&params))
            }
            None => Err(format!("with parameters that do not make a body of {}", kind(sent_as))),
        };
    }
    let may_have_body = !["GET", "HEAD"].contains(&method) && header("content-type").is_some();
    match size {
        Some(0) => Ok(Vec::new()),
        None if !may_have_body => Ok(Vec::new()),
        _ => Err("with a body that was not recorded".into()),
    }
}

/// Returns a MIME type without its parameters, in lower case.
fn kind(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Returns the boundary of a multipart type (RFC 2046, section 5.1.1); `None` for other types.
fn boundary(content_type: &str) -> Option<&str> {
    let mut parts = content_type.split(';');
    parts.next().filter(|kind| kind.trim().to_ascii_lowercase().starts_with("multipart/"))?;
    let value = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
    });
    value.filter(|value| !value.is_empty())
}

/// Writes the parameters as a form (WHATWG URL Standard, section 5.2). A blank becomes `+`, and other special
/// characters become `%HH`.
fn url_encoded(params: &[Param]) -> Vec<u8> {
    let mut out = String::new();
    for param in params {
        if !out.is_empty() {
            out.push('&');
        }
        encode(&param.name, &mut out);
        out.push('=');
        encode(param.value.as_deref().unwrap_or_default(), &mut out);
    }
    out.into_bytes()
}

fn encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            _ => *out += &format!("%{byte:02X}"),
        }
    }
}

/// Writes the parameters as parts of a multipart form (RFC 7578).
fn multipart(params: &[Param], boundary: &str) -> Vec<u8> {
    let quoted = |text: &str| text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
    let mut out = String::new();
    for param in params {
        out += &format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(&param.name));
        out += &param.file_name.as_ref().map_or(String::new(), |name| format!("; filename=\"{}\"", quoted(name)));
        let kind = param.content_type.as_ref().filter(|kind| !kind.is_empty() && !kind.contains(['\r', '\n']));
        out += &kind.map_or(String::new(), |kind| format!("\r\nContent-Type: {kind}"));
        out += &format!("\r\n\r\n{}\r\n", param.value.as_deref().unwrap_or_default());
    }
    (out + &format!("--{boundary}--\r\n")).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(headers: &[(&str, &str)], data: &str, size: Option<i64>) -> Result<String, String> {
        let headers: Vec<_> = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        of("PUT", &headers, serde_json::from_str(data).unwrap(), size).map(|body| String::from_utf8(body).unwrap())
    }

    #[test]
    fn parameters_are_a_body() {
        let params = r#"{"mimeType":"x","params":[{"name":"q e","value":"ü=1"},{"name":"n"}]}"#;
        let form = [("content-type", "application/x-www-form-urlencoded; charset=UTF-8")];
        assert_eq!(body(&form, params, None).as_deref(), Ok("q+e=%C3%BC%3D1&n="));
        let parts = r#"{"params":[{"name":"a","value":"1"},{"name":"f","fileName":"b.csv","contentType":"text/csv","value":"x,y"}]}"#;
        let multipart = [("Content-Type", "multipart/form-data; boundary=\"ZZ\"")];
        assert_eq!(
            body(&multipart, parts, None).as_deref(),
            Ok(
                "--ZZ\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--ZZ\r\nContent-Disposition: form-data; \
                name=\"f\"; filename=\"b.csv\"\r\nContent-Type: text/csv\r\n\r\nx,y\r\n--ZZ--\r\n"
            )
        );
        assert_eq!(body(&form, r#"{"text":"a=1","params":[{"name":"b","value":"2"}]}"#, None).as_deref(), Ok("a=1"));
    }

    #[test]
    fn a_body_that_was_not_recorded_leaves_the_entry_out() {
        let json = [("Content-Type", "application/json")];
        let form = [("Content-Type", "application/x-www-form-urlencoded")];
        let multipart = [("Content-Type", "multipart/form-data; boundary=Z")];
        for (headers, data, size, says) in [
            (&json[..], "null", None, "not recorded"),
            (&[], "null", Some(12), "not recorded"),
            (&[("Content-Length", "3")], "null", None, "not recorded"),
            (&[("Content-Length", "3")], r#"{"text":"abcd"}"#, None, "not as long"),
            (&json, r#"{"params":[{"name":"a"}]}"#, None, "application/json"),
            (&multipart, r#"{"params":[{"name":"a","fileName":"f"}]}"#, None, "a file whose content"),
            (&form, r#"{"mimeType":"multipart/form-data; boundary=Z","params":[{"name":"a"}]}"#, None, "boundary"),
            (&json, r#"{"text":"?","encoding":"base64"}"#, None, "cannot be read"),
        ] {
            assert!(body(headers, data, size).unwrap_err().contains(says), "{data}");
        }
        assert_eq!(body(&[("Content-Length", "0")], "null", None).as_deref(), Ok(""));
        assert_eq!(body(&[], "null", Some(-1)).as_deref(), Ok(""), "-1: the browser does not know");
    }
}
