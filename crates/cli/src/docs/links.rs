//! Checks that every relative link, heading and source path exists that is named in docs/ and in the files beside
//! README.md.

use std::path::{Path, PathBuf};

#[test]
fn every_link_and_path_in_the_pages_exists() {
    let root = root();
    let missing: Vec<String> = pages(&root)
        .iter()
        .flat_map(|page| missing_in(&root, page).into_iter().map(|target| format!("{}: {target}", page.display())))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Returns the folder of the repository.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the Markdown files of the repository's root, of docs/ and of docs/methods/.
pub(super) fn pages(root: &Path) -> Vec<PathBuf> {
    let folders = [root.to_path_buf(), root.join("docs"), root.join("docs/methods")];
    let entries = folders.iter().flat_map(|folder| folder.read_dir().expect("the folder can be read"));
    let pages = entries.map(|entry| entry.expect("the entry can be read").path());
    pages.filter(|path| path.extension().is_some_and(|end| end == "md")).collect()
}

/// Returns the links and source paths of a page that lead nowhere.
fn missing_in(root: &Path, page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).expect("the page can be read");
    let links = between(&text, "](").filter(|link| !link.contains("://") && !leads_somewhere(page, link));
    let spans = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let paths = spans.filter_map(source_path).filter(|path| !root.join(path).exists());
    links.map(String::from).chain(paths).collect()
}

/// Returns the texts between `open` and the next `)`.
fn between<'a>(text: &'a str, open: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(open).skip(1).filter_map(|rest| rest.split_once(')')).map(|(inside, _)| inside)
}

/// Returns true if the file of a link exists, and its heading if the link names one.
fn leads_somewhere(page: &Path, link: &str) -> bool {
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = if file.is_empty() { page.to_path_buf() } else { page.with_file_name(file) };
    target.exists() && (heading.is_empty() || has_heading(&target, heading))
}

fn has_heading(page: &Path, anchor: &str) -> bool {
    let text = std::fs::read_to_string(page).expect("the page can be read");
    text.lines().filter(|line| line.starts_with('#')).any(|line| slug(line) == anchor)
}

/// Returns the anchor that GitHub gives to a heading.
fn slug(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns the path from the root that a code span names: `crates/NAME/…`, or `NAME/src/…` and `NAME/tests/…` of a crate.
fn source_path(span: &str) -> Option<String> {
    if span.contains([' ', '*', '{', '…']) || span.contains("NAME") {
        return None;
    }
    match span.split('/').nth(1)? {
        _ if span.starts_with("crates/") => Some(span.to_string()),
        "src" | "tests" => Some(format!("crates/{span}")),
        _ => None,
    }
}
