//! Contents of files that a load plan names, for agents on other hosts. The conductor reads the files that the plan
//! names, and sends their contents with the task.

use std::collections::BTreeMap;
use std::path::Path;

use run::LoadPlan;

use crate::LabError;

/// Maximum total size of the files that one load plan names, bytes. The limit exists because every agent gets all files
/// of its plan at the start of every load test.
const MAX_BYTES: usize = 4 << 20;

/// Reads the files that a load plan names, and returns their contents in base64, by path.
pub(crate) fn read_all(load: &LoadPlan) -> Result<BTreeMap<String, String>, LabError> {
    let said = [serde_json::to_value(&load.protocol), serde_json::to_value(&load.tls)];
    let mut named = Vec::new();
    said.iter().flatten().for_each(|value| files_in(value, &mut named));
    let (mut files, mut bytes) = (BTreeMap::new(), 0);
    for path in named {
        let fail = |why: String| {
            let what = format!("sending the load to other hosts (--client-hosts), which names the file {path:?}");
            Err(LabError::set_up(what, why))
        };
        match run::read_bounded(Path::new(&path), (MAX_BYTES - bytes) as u64) {
            Ok(read) => {
                bytes += read.len();
                files.insert(path, run::to_base64(&read));
            }
            Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
                return fail(format!(
                    "at most {MAX_BYTES} bytes of files are sent to each host; name a shorter one, or generate the load on this host"
                ));
            }
            Err(error) => return fail(format!("it cannot be read: {error}")),
        }
    }
    Ok(files)
}

/// Collects file paths from a serialized plan: the values of the key `file` and of keys that end with `_file`.
fn files_in(value: &serde_json::Value, found: &mut Vec<String>) {
    let Some(object) = value.as_object() else { return };
    for (key, value) in object {
        if let (true, Some(file)) = (key.ends_with("_file") || key == "file", value.as_str()) {
            found.push(file.into());
        }
        files_in(value, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Protocol, TlsPlan};

    fn raw(path: &std::path::Path) -> LoadPlan {
        let send_file = Some(path.display().to_string());
        let protocol = Protocol::Raw { send_file, expect_bytes: None, read_first: None };
        LoadPlan { protocol, ..LoadPlan::default() }
    }

    #[test]
    fn files_of_a_load_are_read_on_this_host() {
        assert!(read_all(&LoadPlan::default()).unwrap().is_empty());
        let dir = tempfile::tempdir().unwrap();
        let (body, key) = (dir.path().join("body"), dir.path().join("key.pem"));
        std::fs::write(&body, [0, 255]).unwrap();
        std::fs::write(&key, "PEM").unwrap();
        let tls = Some(TlsPlan { key_file: Some(key.display().to_string()), ..TlsPlan::default() });
        let files = read_all(&LoadPlan { tls, ..raw(&body) }).unwrap();
        let read = |path: &std::path::Path| run::from_base64(&files[path.to_str().unwrap()]).unwrap();
        assert_eq!((files.len(), read(&body), read(&key)), (2, vec![0, 255], b"PEM".to_vec()));
    }

    #[test]
    fn a_file_that_cannot_be_sent_is_named_with_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        let error = read_all(&raw(&dir.path().join("none"))).unwrap_err().to_string();
        assert!(error.contains("none") && error.contains("cannot be read: "), "{error}");
        let large = dir.path().join("large");
        std::fs::File::create(&large).unwrap().set_len(MAX_BYTES as u64 + 1).unwrap();
        let error = read_all(&raw(&large)).unwrap_err().to_string();
        assert!(error.contains("at most 4194304 bytes"), "{error}");
    }
}
