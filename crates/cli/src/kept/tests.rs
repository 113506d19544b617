//! Tests of the directories in which runs are stored.

use super::*;

#[test]
fn two_runs_at_a_time_do_not_share_a_directory() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    let first = Kept::named(&out, false).unwrap();
    let error = Kept::named(&out, false).unwrap_err().to_string();
    assert!(error.contains("another loadline writes its run into"), "{error}");
    drop(first);
    assert!(!out.exists());
    Kept::named(&out, false).unwrap();
}

fn put(dir: &Path, run: &str) {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join("run.json"), format!("{{\"format\":\"loadline-run/1\",\"command\":\"{run}\"}}")).unwrap();
    fs::write(dir.join("report.html"), format!("<title>{run} · loadline</title>")).unwrap();
}

fn read(dir: &Path) -> String {
    fs::read_to_string(dir.join("run.json")).unwrap()
}

#[test]
fn an_earlier_run_moves_aside_and_returns_if_nothing_was_measured() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    put(&out, "old");
    fs::write(out.join("notes.txt"), "mine").unwrap();
    let kept = Kept::named(&out, false).unwrap();
    assert!(!out.join("run.json").exists() && out.join("notes.txt").exists());
    let aside = kept.aside.clone().unwrap();
    assert!(read(&aside).contains("old"), "{aside:?}");
    drop(kept);
    assert!(read(&out).contains("old") && !aside.exists());
    let kept = Kept::named(&out, false).unwrap();
    put(&out, "new");
    assert!(kept.settle().unwrap().starts_with("the earlier run is now in "));
    let aside = kept.aside.clone().unwrap();
    drop(kept);
    assert!(read(&out).contains("new") && read(&aside).contains("old"));
}

/// With `--force`, an earlier version of loadline told the user that the earlier run held the measurements of a command
/// that had measured nothing.
#[test]
fn an_earlier_run_is_not_taken_for_the_run_that_measured_nothing() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    put(&out, "old");
    let kept = Kept::named(&out, true).unwrap();
    assert_eq!(kept.cut_short(), None);
    run::RunDir::create(&out).unwrap().save(&run::Run::default()).unwrap();
    assert_eq!(kept.cut_short(), Some(out.display().to_string()));
}

#[test]
fn files_of_other_programs_are_refused_even_with_force() {
    let root = tempfile::tempdir().unwrap();
    for (file, text) in [("report.html", "<title>sales</title>"), ("run.json", "{}")] {
        let out = root.path().join(file);
        fs::create_dir(&out).unwrap();
        fs::write(out.join(file), text).unwrap();
        for force in [false, true] {
            assert!(Kept::named(&out, force).unwrap_err().to_string().contains("--out"));
        }
        assert_eq!(fs::read_to_string(out.join(file)).unwrap(), text);
    }
    let out = root.path().join("ours");
    put(&out, "old");
    assert!(Kept::named(&out, true).unwrap().aside.is_none(), "a run of ours is overwritten by force");
}

#[test]
fn runs_by_time_have_a_link_to_the_latest_and_empty_ones_are_removed() {
    let root = tempfile::tempdir().unwrap();
    let (runs, latest) = (root.path().join("runs"), root.path().join("runs/latest"));
    put(&latest, "of an older version");
    for run in ["first", "second"] {
        let kept = Kept::by_time(&runs, latest.clone()).unwrap();
        put(kept.dir(), run);
        kept.settle().unwrap();
        assert!(read(&latest).contains(run));
    }
    // An interrupted run becomes the latest run, but a run without any trial does not.
    let kept = Kept::by_time(&runs, latest.clone()).unwrap();
    assert_eq!(kept.cut_short(), None);
    put(kept.dir(), "half");
    assert_eq!(kept.cut_short().unwrap(), kept.dir().display().to_string());
    drop(kept);
    assert!(read(&latest).contains("half"));
    // If `--out` names the symbolic link `latest`, loadline uses the directory to which this link points.
    let kept = Kept::named(&latest, false).unwrap();
    put(kept.dir(), "third");
    kept.settle().unwrap();
    assert!(read(&latest).contains("third"));
    drop(Kept::by_time(&runs, latest.clone()).unwrap());
    assert_eq!(fs::read_dir(&runs).unwrap().count(), 6, "five runs and the link");
}

#[test]
fn a_link_in_another_directory_leads_to_the_new_run() {
    let root = tempfile::tempdir().unwrap();
    let (old, link) = (root.path().join("runs/old"), root.path().join("mine/out"));
    put(&old, "old");
    fs::create_dir(root.path().join("mine")).unwrap();
    std::os::unix::fs::symlink("../runs/old", &link).unwrap();
    for run in ["second", "third"] {
        let kept = Kept::named(&link, false).unwrap();
        put(kept.dir(), run);
        kept.settle().unwrap();
        assert!(read(&link).contains(run) && read(&old).contains("old"));
        assert_eq!(kept.dir().parent(), Some(fs::canonicalize(root.path().join("runs")).unwrap().as_path()));
    }
}
