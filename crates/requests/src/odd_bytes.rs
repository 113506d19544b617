//! Reads files of requests in which a few bytes are not UTF-8. One wrong byte is no reason to refuse a whole file, so
//! only requests with wrong bytes are left out.

use run::RequestPlan;

use crate::found::Imported;

/// Character that replaces bytes that are not UTF-8 while a file is read. Unicode reserves this code point for the
/// internal use of programs.
const MARK: char = '\u{10fffe}';
/// Reason why a request with a [`MARK`] is left out.
const WHY: &str = "with bytes that are not UTF-8";

/// Returns the text of a file, in which [`MARK`] replaces bytes that are not UTF-8. Returns `None` if the file is not a
/// text. A file is not a text if it is compressed, has the byte order mark of UTF-16, or contains a zero byte.
pub(crate) fn marked(bytes: &[u8]) -> Option<String> {
    let is_binary = [[0x1f, 0x8b], [0xff, 0xfe], [0xfe, 0xff]].iter().any(|begin| bytes.starts_with(begin));
    (!is_binary && !bytes.contains(&0)).then(|| text_of(bytes))
}

fn text_of(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend((!chunk.invalid().is_empty()).then_some(MARK));
    }
    text.trim_start_matches('\u{feff}').to_owned()
}

/// Leaves out the requests that contain a [`MARK`].
pub(crate) fn leave_out_marked(all: &mut Imported) {
    let before = all.found.len();
    all.found.retain(|found| !is_marked(&found.request));
    let left_out = before.saturating_sub(all.found.len());
    if left_out > 0 {
        *all.left_out.entry(WHY.into()).or_default() += left_out as u64;
    }
}

fn is_marked(request: &RequestPlan) -> bool {
    let headers = request.headers.iter().flat_map(|(name, value)| [name, value]);
    [&request.method, &request.path, &request.body].into_iter().chain(headers).any(|text| text.contains(MARK))
}

#[cfg(test)]
mod tests {
    use crate::read_file;

    /// An earlier version of loadline refused a whole file if one byte was not UTF-8.
    #[test]
    fn one_odd_byte_leaves_out_one_request() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let urls = write("urls", b"http://h/a\nhttp://h/caf\xe9\nhttp://h/b\n");
        let har = write(
            "har",
            b"{\"log\":{\"entries\":[{\"request\":{\"method\":\"GET\",\"url\":\"http://h/\xff\"}},\
              {\"request\":{\"method\":\"GET\",\"url\":\"http://h/b\"}}]}}",
        );
        for (file, kept) in [(urls, 2), (har, 1)] {
            let (all, _) = read_file(&file, None).unwrap();
            assert_eq!(all.found.len(), kept, "{file:?}");
            assert_eq!(all.left_out.values().sum::<u64>(), 1, "{:?}", all.left_out);
        }
        for (name, bytes) in [("all", &b"http://h/\xff\n"[..]), ("toml", b"[[request]]\npath = \"/\xff\"\n")] {
            let error = read_file(&write(name, bytes), None).unwrap_err().to_string();
            assert!(error.contains("UTF-8"), "{name}: {error}");
        }
        let image = read_file(&write("image", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), None).unwrap_err().to_string();
        assert!(image.contains("UTF-8"), "{image}");
    }
}
