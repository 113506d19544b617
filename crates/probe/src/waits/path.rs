//! Paths of files as part of what a thread waits for.

use std::sync::Arc;

use run::visible;

/// Maximum length of a file's path, characters.
const MAX_PATH_CHARS: usize = 120;

/// Makes a path safe to show and limits its length. The end of the path is the most informative part.
pub(super) fn short_path(path: &str) -> Arc<str> {
    let path = visible(path);
    let skip = path.chars().count().saturating_sub(MAX_PATH_CHARS);
    path.chars().skip(skip).collect::<String>().into()
}
