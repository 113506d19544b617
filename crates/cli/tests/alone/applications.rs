//! Tests with web applications in Python and Go, each with one known limit. `find` must name the application's known
//! limit, or report that it does not know the limit. `find` must neither be sure of a wrong limit nor call it proven.
//! The sources are in `applications/`. The tests `inside` and `live_count` start further applications.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{
    ChildProcess, OtherPrograms, alone_with_release, bottleneck, first_line, json, num, program, skip, verdict,
};

/// Confidence from which a verdict counts as sure.
const SURE: f64 = 0.9;

/// An application, and the verdicts on it that are correct.
struct Application {
    /// Language of the application. The tools that run or build this language must be installed.
    language: Language,
    /// Name of the application's limit. The application gets this name as an argument.
    limit: &'static str,
    /// IDs of the correct verdicts.
    right: &'static [&'static str],
    /// True if the application uses the CPU for only one request at a time.
    serial: bool,
}

#[derive(Clone, Copy)]
enum Language {
    Python,
    Go,
}

impl Language {
    fn program(self) -> &'static str {
        match self {
            Self::Python => "python3",
            Self::Go => "go",
        }
    }

    /// Returns the command that starts the application. Builds the application first if the language needs a build.
    fn command(self, installed: &Path, build_dir: &Path) -> Command {
        let source = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/alone/applications").join(name);
        match self {
            Self::Python => {
                let mut command = Command::new(installed);
                command.arg(source("app.py"));
                command
            }
            Self::Go => Command::new(built(installed, &source("app.go"), build_dir)),
        }
    }
}

/// Builds a Go program, and returns the path of the executable.
fn built(go: &Path, source: &Path, build_dir: &Path) -> PathBuf {
    let file = build_dir.join("app");
    let build = Command::new(go).env("GOTOOLCHAIN", "local").args(["build", "-o"]).arg(&file).arg(source).output();
    let output = build.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    file
}

/// Runs `find` against an application and checks its verdict. Returns `None` if the language is not installed.
fn check(test: &str, binary: &Path, application: &Application) -> Option<Value> {
    let Some(installed) = program(application.language.program()) else {
        skip(test, format!("{} is not installed", application.language.program()));
        return None;
    };
    let dir = tempfile::tempdir().unwrap();
    let mut command = application.language.command(&installed, dir.path());
    let mut server = ChildProcess::start(command.arg(application.limit).stdin(Stdio::piped()).stdout(Stdio::piped()));
    let url = format!("http://127.0.0.1:{}/", first_line(&mut server.0));
    let others = OtherPrograms::watch();
    let run = json(binary, &["find", &url, "--budget", "20s"]);
    let found = &run["findings"]["bottleneck"];
    let is_right = application.right.contains(&bottleneck(&run));
    let outcome = run["findings"]["proof"]["outcome"].as_str().unwrap_or("none");
    assert!(is_right || num(&found["confidence"]) < SURE, "sure of a wrong verdict: {}", verdict(&run));
    assert!(is_right || outcome != "proven", "proves a wrong verdict: {}", verdict(&run));
    if others.stayed_away(test) {
        assert!(is_right, "one of {:?} is right: {}", application.right, verdict(&run));
        assert_eq!(found["serial"].as_bool().unwrap_or(false), application.serial, "{}", verdict(&run));
        let sleeps = found["sentence"].as_str().is_some_and(|text| text.contains("threads sleep"));
        assert!(!sleeps || !application.serial, "a server that computes all the time: {}", verdict(&run));
    }
    Some(run)
}

/// Defines one test per application.
macro_rules! applications {
    ($($test:ident: $language:ident $limit:literal, [$($right:literal),+], serial $serial:literal;)+) => {$(
        #[test]
        fn $test() {
            let (_alone, binary) = alone_with_release!(stringify!($test));
            let application = Application {
                language: Language::$language,
                limit: $limit,
                right: &[$($right),+],
                serial: $serial,
            };
            check(stringify!($test), &binary, &application);
        }
    )+};
}

applications! {
    threads_that_share_the_lock_of_cpython_are_serial: Python "gil", ["server-concurrency"], serial true;
    a_mutex_around_arithmetic_is_serial: Go "mutex", ["server-concurrency"], serial true;
    a_dispatcher_that_moves_between_threads_is_serial: Go "dispatcher", ["server-concurrency", "server-single-thread"], serial true;
    parallel_arithmetic_needs_more_cpus: Go "parallel", ["server-cpu"], serial false;
    rare_slow_answers_are_not_a_limit: Go "rare", ["server-cpu", "client-cpu", "not-saturated", "unknown"], serial false;
}
