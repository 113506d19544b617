//! Facts about a process or a thread from its file `status`. Source: proc_pid_status(5).

use std::path::Path;

/// Returns the text of the file `status` in `folder`, the folder of a process or of a thread. The kernel cuts the name
/// in this file after 15 bytes, so the name may end inside a character. A cut character is replaced.
pub(crate) fn status(folder: &Path) -> Option<String> {
    std::fs::read(folder.join("status")).ok().map(|text| String::from_utf8_lossy(&text).into_owned())
}

/// Returns the words after `key` on the line of `status` that begins with `key`.
pub(crate) fn words_after<'a>(status: &'a str, key: &str) -> Option<std::str::SplitWhitespace<'a>> {
    status.lines().find_map(|line| line.strip_prefix(key)).map(str::split_whitespace)
}

/// Returns the ID that a process or a thread has in its own PID namespace. `folder` is its folder, such as `/proc/7` or
/// `/proc/7/task/8`.
pub fn inner_id(folder: &Path) -> Option<u32> {
    words_after(&status(folder)?, "NSpid:")?.next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_ends_inside_a_character_hides_no_id() {
        let folder = tempfile::tempdir().unwrap();
        let text = b"Name:\tserver-of-j\xc3\nState:\tS (sleeping)\nUid:\t5 6 7 8\nNSpid:\t4711\t31\t9\n";
        std::fs::write(folder.path().join("status"), text).unwrap();
        assert_eq!(inner_id(folder.path()), Some(9));
        let read = status(folder.path()).unwrap();
        assert_eq!(words_after(&read, "Uid:").unwrap().nth(1), Some("6"));
        assert_eq!(inner_id(&folder.path().join("none")), None);
    }
}
