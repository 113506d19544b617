//! Field names of logs in JSON.

/// Names of the JSON fields that may contain each part of a log line. For each part, loadline uses the first listed
/// field whose value can be read. A dot separates the names of nested objects.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    pub(super) request: Vec<String>,
    pub(super) method: Vec<String>,
    pub(super) path: Vec<String>,
    pub(super) time: Vec<String>,
    pub(super) status: Vec<String>,
    /// Field names that the user gave. A JSON line that lacks one of the fields in `given` cannot be read.
    pub(super) given: Vec<String>,
    /// True if the user gave the name of the field that contains the path.
    pub(super) is_path_named: bool,
    /// True if the user gave the name of the field that contains the method.
    pub(super) is_method_named: bool,
}

/// Usual names of the field with the request line (such as `GET /path HTTP/1.1`). Sources are the logs of nginx, Caddy,
/// Traefik, Envoy, the Elastic Common Schema and Google Cloud.
const REQUEST: &[&str] = &["request", "request_line"];
/// Usual names of the field with the method, in the logs that [`REQUEST`] names.
const METHOD: &[&str] = &[
    "request_method",
    "method",
    "http_method",
    "verb",
    "request.method",
    "RequestMethod",
    "http.request.method",
    "httpRequest.requestMethod",
];
/// Usual names of the field with the path or URL, in the logs that [`REQUEST`] names.
const PATH: &[&str] = &[
    "request_uri",
    "uri",
    "path",
    "url",
    "request_path",
    "request.uri",
    "RequestPath",
    "url.original",
    "httpRequest.requestUrl",
];
/// Usual names of the field with the time, in the logs that [`REQUEST`] names.
const TIME: &[&str] =
    &["time", "msec", "timestamp", "@timestamp", "time_iso8601", "time_local", "ts", "start_time", "StartUTC"];
/// Usual names of the field with the status, in the logs that [`REQUEST`] names.
const STATUS: &[&str] = &[
    "status",
    "status_code",
    "response_status",
    "response_code",
    "DownstreamStatus",
    "http.response.status_code",
    "httpRequest.status",
];

impl Fields {
    /// Returns the field names that the user gave (`time=…,path=…`), and the names of common configurations for all
    /// other parts of a line.
    pub(super) fn new(given: &str) -> Result<Self, String> {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let (request, method, path) = (list(REQUEST), list(METHOD), list(PATH));
        let mut all = Self {
            request,
            method,
            path,
            time: list(TIME),
            status: list(STATUS),
            given: Vec::new(),
            is_path_named: false,
            is_method_named: false,
        };
        let mut named = std::collections::BTreeSet::new();
        for pair in given.split(',').filter(|pair| !pair.trim().is_empty()) {
            let (what, name) = pair.split_once('=').ok_or_else(|| format!("{pair:?} has no =; write path=NAME"))?;
            let (what, name) = (what.trim(), name.trim());
            let names = match what {
                "request" => &mut all.request,
                "method" => &mut all.method,
                "path" => &mut all.path,
                "time" => &mut all.time,
                "status" => &mut all.status,
                other => {
                    let near = run::nearest(other, ["request", "method", "path", "time", "status"]);
                    let near = near.map_or(String::new(), |n| format!("; did you mean {n}?"));
                    return Err(format!("there is no field {other:?} (request, method, path, time, status){near}"));
                }
            };
            if named.insert(what) {
                names.clear();
            }
            names.push(name.to_owned());
            all.given.push(name.to_owned());
        }
        // The path is in one of two fields. If the user names one of the fields, the other field is not used.
        (all.is_path_named, all.is_method_named) = (named.contains("path"), named.contains("method"));
        if named.contains("request") && !all.is_path_named {
            all.path.clear();
        }
        Ok(all)
    }
}
