//! Checks that relative links name existing files and headings, and that code spans name existing source files. The
//! checked pages are the pages in docs/ and the Markdown files next to README.md. Also checks that the index of docs/
//! lists all pages.

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

/// Folders of docs/, one for each group of pages.
const GROUPS: &[&str] = &["tutorial", "how-to", "reference", "explanation"];

/// Returns the Markdown files of the repository's root, of docs/ and of the folders in [`GROUPS`].
pub(super) fn pages(root: &Path) -> Vec<PathBuf> {
    let docs = root.join("docs");
    let groups = GROUPS.iter().map(|group| docs.join(group));
    [root.to_path_buf(), docs.clone()].into_iter().chain(groups).flat_map(|folder| pages_in(&folder)).collect()
}

/// Returns the Markdown files directly in a folder.
fn pages_in(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().expect("the folder can be read");
    let files = entries.map(|entry| entry.expect("the entry can be read").path());
    files.filter(|path| path.extension().is_some_and(|end| end == "md")).collect()
}

#[test]
fn the_index_names_every_page_once() {
    let docs = root().join("docs");
    let index = std::fs::read_to_string(docs.join("README.md")).expect("the index can be read");
    for group in GROUPS {
        for page in pages_in(&docs.join(group)) {
            let link = format!("]({group}/{})", page.file_name().unwrap_or_default().display());
            assert_eq!(index.matches(&link).count(), 1, "{link}");
        }
    }
}

/// Maximum size of all pictures of the pages together, bytes. The limit keeps the repository small, so that users can
/// clone it and load the pages quickly.
const MAX_PICTURES_BYTES: u64 = 300_000;

#[test]
fn the_pictures_of_the_pages_are_small() {
    let folder = root().join("docs/pictures").read_dir().expect("the folder can be read");
    let sizes = folder.map(|entry| entry.and_then(|entry| entry.metadata()).expect("the size is known").len());
    let bytes: u64 = sizes.sum();
    assert!((1..=MAX_PICTURES_BYTES).contains(&bytes), "{bytes}");
}

/// Maximum number of lines of README.md.
const MAX_README_LINES: usize = 120;

#[test]
fn the_readme_is_short() {
    let text = std::fs::read_to_string(root().join("README.md")).expect("the page can be read");
    assert!(text.lines().count() <= MAX_README_LINES, "README.md is too long");
}

/// Maximum number of lines of a how-to page.
const MAX_HOW_TO_LINES: usize = 50;

#[test]
fn the_page_of_a_job_is_short() {
    for page in pages_in(&root().join("docs/how-to")) {
        let text = std::fs::read_to_string(&page).expect("the page can be read");
        assert!(text.lines().count() <= MAX_HOW_TO_LINES, "{} is too long", page.display());
    }
}

/// Returns the relative links and the source paths on a page that lead to no existing file or heading.
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

/// Returns true if a link names an existing file. If the link also names a heading, this heading must exist, too.
fn leads_somewhere(page: &Path, link: &str) -> bool {
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = if file.is_empty() { page.to_path_buf() } else { page.with_file_name(file) };
    target.exists() && (heading.is_empty() || has_heading(&target, heading))
}

fn has_heading(page: &Path, anchor: &str) -> bool {
    let text = std::fs::read_to_string(page).expect("the page can be read");
    text.lines().filter(|line| line.starts_with('#')).any(|line| slug(line) == anchor)
}

/// Returns the anchor that GitHub makes from a heading.
fn slug(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns the path that a code span names, relative to the repository's root. The span has the form `crates/NAME/…`,
/// `NAME/src/…` or `NAME/tests/…`, where NAME is a crate. Returns `None` for a code span that is no path in a crate.
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
