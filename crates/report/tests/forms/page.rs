//! Tests of the HTML page: it loads no other file, its links lead to its sections, and no chart is drawn twice.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::{common, made};

#[test]
fn the_page_loads_no_other_file() {
    let html = made("html", &common::find());
    let links = html.replace("http://127.0.0.1:8080", "");
    for wanted in ["http:", "https:", "<script ", "<link", "src=", "@import", "url(", "fetch", "XMLHttp", "import("] {
        assert!(!links.contains(wanted), "the page refers to something outside: {wanted}");
    }
    assert!(html.contains("prefers-color-scheme:dark") && html.contains("name=\"viewport\""));
    assert_eq!(html.matches("<svg").count(), html.matches("</svg>").count());
    assert!(html.matches("<desc>").count() >= 8, "charts tell what they show");
    let colours = html.split("</style>").nth(1).unwrap();
    assert!(!colours.contains("fill=\"#") && !colours.contains("stroke=\"#"), "colours come from the style sheet");
}

/// Each section of the page must have an ID, and a link that leads to the section itself.
#[test]
fn each_section_can_be_linked_to() {
    let html = made("html", &common::find());
    let links: Vec<&str> = html.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(links.len() >= 8, "{links:?}");
    for link in links {
        assert_eq!(html.matches(&format!("id=\"{link}\"")).count(), 1, "{link}");
    }
}

/// The page's Content-Security-Policy must allow the page's own script, by the script's digest, and no other script.
#[test]
fn the_page_allows_exactly_its_own_script() {
    let html = made("html", &common::awkward());
    let script = html.split("<script>").nth(1).unwrap().split("</script>").next().unwrap();
    let digest = STANDARD.encode(Sha256::digest(script));
    assert!(html.contains(&format!("script-src 'sha256-{digest}'")), "{digest}");
}

/// Writes pages into a folder, so that a developer can view them in a browser.
#[test]
#[ignore = "writes pages to look at; run by hand"]
fn pages_for_viewing_in_a_browser() {
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let pages = [
        ("find", common::find()),
        ("experiment", common::experiment()),
        ("awkward", common::awkward()),
        ("load", common::load()),
    ];
    for (name, run) in pages {
        std::fs::write(dir.join(format!("{name}.html")), made("html", &run)).unwrap();
    }
    println!("{}", dir.display());
}

/// The main chart already shows the response times of the search, so the section about the open loop must not repeat
/// them.
#[test]
fn no_chart_is_shown_twice() {
    let titles = |run: &run::Run| -> Vec<String> {
        let html = made("html", run);
        html.split("<figcaption><b>").skip(1).filter_map(|part| Some(part.split("</b>").next()?.to_owned())).collect()
    };
    let found = titles(&common::find());
    assert!(found.contains(&"Response time against offered load".to_string()), "{found:?}");
    assert!(!found.iter().any(|title| title.starts_with("The objective holds up to")), "{found:?}");
    let load = titles(&common::load());
    let curves = load.iter().filter(|title| *title == "Response time at every percentile").count();
    assert_eq!(curves, 1, "{load:?}");
}
