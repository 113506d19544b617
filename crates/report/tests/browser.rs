//! The page in a real browser (headless Chromium): it loads, its charts are there, and it is never wider than the
//! window, on a phone or a desk.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::fmt::Write as _;
use std::process::Command;

use loadline_report::{Style, render};

#[test]
fn no_page_is_wider_than_its_window() {
    if !testkit::has("no_page_is_wider_than_its_window", "chromium") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let pages = [("find", common::find()), ("experiment", common::adding_clients()), ("awkward", common::awkward())];
    let mut frames = String::new();
    for (name, run) in &pages {
        let html = render("html", run, &Style::default()).unwrap();
        std::fs::write(dir.path().join(format!("{name}.html")), html).unwrap();
        for width in [320, 390, 768, 1280] {
            let _ = write!(
                frames,
                "<iframe name=\"{name} {width}\" src=\"{name}.html\" style=\"width:{width}px\"></iframe>"
            );
        }
    }
    // The pages themselves run no script; this one looks into them.
    let look = "<script>onload=()=>{for(let i=0;i<frames.length;i++){const f=frames[i],d=f.document,e=d.documentElement;\
        o.textContent+=`|${f.name} ${e.scrollWidth-e.clientWidth} ${d.querySelectorAll('svg[role]').length}`}}</script>";
    std::fs::write(dir.path().join("all.html"), format!("<pre id=o></pre>{frames}{look}")).unwrap();
    let told = dump(dir.path());
    let rows: Vec<&str> = told.split('|').skip(1).collect();
    assert_eq!(rows.len(), pages.len() * 4, "{told}");
    for row in rows {
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words[2], "0", "{} is wider than {} px by {} px", words[0], words[1], words[2]);
        let charts: usize = words[3].parse().unwrap();
        assert!(charts >= if words[0] == "awkward" { 0 } else { 6 }, "{row}: charts are missing");
    }
}

/// What the page that looks into the others has written.
fn dump(dir: &std::path::Path) -> String {
    let profile = dir.join("profile");
    let page = format!("file://{}/all.html", dir.display());
    let flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
        "--allow-file-access-from-files",
        "--virtual-time-budget=5000",
        "--dump-dom",
    ];
    let output = Command::new("chromium")
        .args(flags)
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(page)
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let begin = dom.find("<pre id=\"o\">").unwrap_or_else(|| panic!("no answer: {dom:.400} {:?}", output.status));
    dom[begin..].split("</pre>").next().unwrap_or_default().trim().to_string()
}
