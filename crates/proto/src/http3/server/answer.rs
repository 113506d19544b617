//! Encoded headers of answers.

use std::sync::Arc;

use crate::http1::{Page, http_date};
use crate::http3::frame;
use crate::http3::qpack::{QPACK, write_field};

/// Frames in front of the body of the answer that was built last. Most answers that are built within one second have
/// the same page.
#[derive(Default)]
pub(super) struct LastHead {
    page: Option<Arc<Page>>,
    second: u64,
    bytes: Vec<u8>,
}

impl LastHead {
    /// Returns the HEADERS frame of an answer with `page`. The date header shows `second`, seconds since 1970.
    pub(super) fn of(&mut self, page: &Arc<Page>, second: u64) -> &[u8] {
        let is_same = self.second == second && self.page.as_ref().is_some_and(|last| Arc::ptr_eq(last, page));
        if !is_same {
            let block = block(page, second);
            self.bytes.clear();
            frame::write_head(&mut self.bytes, frame::HEADERS, block.len());
            self.bytes.extend_from_slice(&block);
            (self.page, self.second) = (Some(page.clone()), second);
        }
        &self.bytes
    }
}

fn block(page: &Page, second: u64) -> Vec<u8> {
    let (status, fields, _) = page.parts();
    let mut block = QPACK.prefix.to_vec();
    write_field(&mut block, ":status", &status.to_string());
    write_field(&mut block, "server", "loadline");
    if let Some(length) = page.content_length() {
        write_field(&mut block, "content-length", &length);
    }
    write_field(&mut block, "date", &http_date(second));
    for (name, value) in fields.lines().filter_map(|line| line.split_once(':')) {
        write_field(&mut block, &name.to_ascii_lowercase(), value.trim());
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_content_has_no_length() {
        let has_length = |status, length| {
            let block = block(&Page::new(status, "text/plain", "", b"body".to_vec()), 0);
            let mut field = Vec::new();
            write_field(&mut field, "content-length", length);
            block.windows(field.len()).any(|part| part == field)
        };
        assert!(has_length(200, "4"));
        assert!(!has_length(204, "4") && !has_length(204, "0"));
    }
}
