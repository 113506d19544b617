//! Opens HTML reports in a real browser (headless Chromium). Each page must load and show its charts. On a phone and on
//! a desktop, no page may be wider than the window.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::fmt::Write as _;
use std::process::Command;

use loadline_report::{Style, render, render_history};

#[test]
fn no_page_is_wider_than_its_window() {
    if !testkit::has("no_page_is_wider_than_its_window", "chromium") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let page = |run| render("html", &run, &Style::default()).unwrap();
    let history = common::history::history("a-label-of-twenty-characters");
    let pages = [
        ("find", page(common::find())),
        ("behind", page(common::behind())),
        ("experiment", page(common::experiment())),
        ("awkward", page(common::awkward())),
        ("history", render_history("html", &history, &Style::default()).unwrap()),
    ];
    let mut frames = String::new();
    for (name, html) in &pages {
        std::fs::write(dir.path().join(format!("{name}.html")), html).unwrap();
        for width in [320, 390, 768, 1280] {
            let _ = write!(
                frames,
                "<iframe name=\"{name} {width}\" src=\"{name}.html\" style=\"width:{width}px\"></iframe>"
            );
        }
    }
    // This script runs in an outer page, which shows each report in a frame. The script inspects the page in each
    // frame.
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

/// The browser may run only a script whose hash the page names. An effect of the page's script shows that the browser
/// ran the script.
#[test]
fn the_value_near_the_pointer_is_shown_and_a_link_opens_its_target() {
    if !testkit::has("values near the pointer", "chromium") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let html = render("html", &common::find(), &Style::default()).unwrap();
    std::fs::write(dir.path().join("find.html"), html).unwrap();
    let frame = "<iframe src=\"find.html#counters\" style=\"width:1280px;height:900px\"></iframe>";
    let look = "<script>onload=()=>{const f=frames[0],d=f.document;\
        const open=d.querySelector('#counters>details').open;\
        const p=d.querySelector('.page svg[role] circle:has(title)'),b=p.getBoundingClientRect(),s=p.closest('svg[role]');\
        const at={clientX:b.left+4,clientY:b.top+4,bubbles:true};\
        s.dispatchEvent(new f.PointerEvent('pointermove',at));\
        const told=s.parentElement.querySelector('.told').textContent;\
        s.dispatchEvent(new f.PointerEvent('pointerleave',at));\
        const gone=s.parentElement.querySelector('.told').textContent;\
        o.textContent=`|${open}|${told===p.querySelector('title').textContent}|${told.length>5}|${gone}|`}</script>";
    std::fs::write(dir.path().join("all.html"), format!("<pre id=o></pre>{frame}{look}")).unwrap();
    let told = dump(dir.path());
    assert!(told.contains("|true|true|true||"), "{told}");
}

/// The test applies the page's print rules to the screen, so that it can inspect their effect. The browser also prints
/// the page as a PDF.
#[test]
fn printed_pages_are_unfolded_and_lack_screen_controls() {
    if !testkit::has("print style", "chromium") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let html = render("html", &common::find(), &Style::default()).unwrap();
    std::fs::write(dir.path().join("find.html"), html).unwrap();
    let frame = "<iframe src=\"find.html\" style=\"width:1000px;height:900px\"></iframe>";
    let look = "<script>onload=()=>{const f=frames[0],d=f.document;\
        const folded=[...d.querySelectorAll('details:not([open])')].filter(e=>!e.parentElement.closest('details'));\
        const heights=()=>folded.map(e=>[...e.children].some(c=>c.tagName!=='SUMMARY'&&c.checkVisibility())?1:0);\
        const anchors=()=>[...d.querySelectorAll('.anchor')].filter(e=>e.checkVisibility()).length;\
        const before=[heights().reduce((a,b)=>a+b,0),anchors()];\
        let rules=0;for(const s of d.styleSheets)for(const r of s.cssRules)if(r.media&&r.media.mediaText==='print'){r.media.mediaText='all';rules++}\
        const after=[heights().filter(h=>!h).length,anchors()];\
        o.textContent=`|${folded.length>1}|${before[0]}|${before[1]>1}|${rules}|${after[0]}|${after[1]}|${d.documentElement.scrollWidth<=1000}|`}</script>";
    std::fs::write(dir.path().join("all.html"), format!("<pre id=o></pre>{frame}{look}")).unwrap();
    let told = dump(dir.path());
    assert!(told.contains("|true|0|true|1|0|0|true|"), "{told}");

    let pdf = dir.path().join("find.pdf");
    let printed = chromium(dir.path(), &format!("--print-to-pdf={}", pdf.display()), "find.html");
    let bytes = std::fs::read(&pdf).unwrap_or_else(|e| panic!("{e}: {:?}", printed.status));
    let pages = bytes.windows(11).filter(|part| part == b"/Type /Page").count();
    assert!(bytes.starts_with(b"%PDF-") && pages > 3, "{pages} pages of {} bytes", bytes.len());
}

/// Returns the text that the inspecting script wrote into the outer page.
fn dump(dir: &std::path::Path) -> String {
    let output = chromium(dir, "--dump-dom", "all.html");
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let begin = dom.find("<pre id=\"o\">").unwrap_or_else(|| panic!("no answer: {dom:.400} {:?}", output.status));
    dom[begin..].split("</pre>").next().unwrap_or_default().trim().to_string()
}

/// Runs the browser on a page in `dir`. `task` is the flag that says what to do with the page.
fn chromium(dir: &std::path::Path, task: &str, page: &str) -> std::process::Output {
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
    ];
    let profile = format!("--user-data-dir={}", dir.join("profile").display());
    let page = format!("file://{}/{page}", dir.display());
    Command::new("chromium").args(flags).args([&*profile, task, &page]).output().unwrap()
}
