//! Runs the commands in the code blocks of all pages of docs/, and in the blocks and the table of README.md. As a
//! reader would, the test runs the commands page by page, in their order on the page, in an empty folder. The test
//! first starts the servers that a page assumes to be running. The test replaces ports by free ports, and times by
//! shorter times. `EXCEPTIONS` lists the commands that the test does not run, with the reasons.

use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::free_port;

/// Ports that the servers on the pages use.
const PORTS: std::ops::RangeInclusive<u16> = 19_381..=19_389;
/// Times and hosts in the commands of the pages, each with the text that replaces it in the test. A replacement never
/// contains an option that its command already has.
const SHORTER: &[(&str, &str)] = &[
    ("--budget 15s", "--budget 8s"),
    ("--budget 20s", "--budget 8s"),
    ("--budget 60s", "--budget 8s"),
    ("--duration 5s", "--duration 1s"),
    ("--duration 10s", "--duration 1s"),
    ("--duration 30s", "--duration 1s"),
    ("/20s", "/2s"),
    ("--server-host web1", "--server-host web1 --via 'env HOST={host}'"),
    ("http://10.0.0.7/", "http://127.0.0.1:8080/"),
    (
        "size http://127.0.0.1:8080/ --command './server --port $PORT'",
        "size http://127.0.0.1:8082/ --budget 20s --command 'loadline serve --listen 127.0.0.1:8082'",
    ),
];
/// Servers that pages assume to be running. Each row has a part of a page's command, and the command that starts the
/// server for it.
const SERVERS: &[(&str, &str)] = &[
    ("127.0.0.1:8080", "loadline serve --listen 127.0.0.1:8080 --option work_us=100 &"),
    ("127.0.0.1:19381", "loadline serve --listen 127.0.0.1:19381 &"),
    ("--port 19381", "loadline serve --listen 127.0.0.1:19381 &"),
    (
        "127.0.0.1:19383",
        "loadline serve --listen 127.0.0.1:19383 --model workers --option workers=4 --option sleep_ms=5 &",
    ),
];
/// Commands that a page assumes to have run before. Each row contains a page and a command.
const BEFORE: &[(&str, &str)] = &[
    ("what-if.md", "loadline serve --listen 127.0.0.1:19383 --model workers --option workers=4 --option sleep_ms=5 &"),
    ("what-if.md", "loadline find http://127.0.0.1:19383/ --budget 20s"),
];
/// First words of the commands that the test does not run, each with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("loadline find http://10.0.0.7/ --client-hosts gen-a --via kubectl", "needs a cluster"),
    ("loadline waits --port 7961 --behind postgres:", "needs PostgreSQL; the tests of databases run it"),
    ("loadline lab connections --set connections=1000000", "needs gigabytes of memory"),
    ("loadline arena examples/arena/arena.toml", "needs images from a registry; README's table has a local arena"),
    ("loadline find postgres:", "needs PostgreSQL; the tests of PostgreSQL run it"),
    ("loadline load postgres:", "as above"),
];
/// Prefixes of the shell commands that the test runs besides `loadline`. Commands with these prefixes create files that
/// loadline's commands read.
const FILES: &[&str] = &["seq ", "printf "];

/// Words that the test appends to commands of README.md to make them end soon. The first text of each row is the
/// beginning of a command, and the second text is appended to this command.
const ENDS: &[(&str, &str)] = &[
    ("loadline find", " --budget 6s --out latest-find"),
    ("loadline load", ""),
    ("loadline compare http", " --budget 6s"),
    ("loadline compare old", ""),
    ("loadline arena", " --budget 35s"),
    ("loadline size", " --budget 13s"),
    ("loadline waits", " --duration 1s"),
    ("loadline watch", " --duration 1s"),
    ("loadline history", ""),
    ("loadline what-if", ""),
    ("loadline lab", " --quick --model epoll"),
];
/// Parts of README.md's commands that need other hosts or much time, each with its replacement.
const README: &[(&str, &str)] = &[
    ("http://10.0.0.7/", "http://127.0.0.1:8080/"),
    (
        "size http://127.0.0.1:8080/ --command './server'",
        "size http://127.0.0.1:8082/ --command 'loadline serve --listen 127.0.0.1:8082'",
    ),
    ("--users 5000 --think 3s", "--users 50 --think 30ms"),
    ("--duration 60s", "--duration 1s"),
    ("/60s", "/2s"),
];

/// Returns the commands in README.md's table, shortened for the test.
fn table(readme: &str) -> Vec<String> {
    let rows = readme.lines().filter(|line| line.starts_with('|'));
    let commands = rows.filter_map(|row| row.split('`').skip(1).step_by(2).find(|span| span.starts_with("loadline ")));
    let shorter = |command: &str| {
        let end = ENDS.iter().find(|(first, _)| command.starts_with(first));
        let (_, end) = end.unwrap_or_else(|| panic!("no end of `{command}` is known"));
        README.iter().fold(format!("{command}{end}"), |command, (page, test)| command.replace(page, test))
    };
    commands.map(shorter).collect()
}

/// Returns commands that prepare the commands in README.md's table. The returned commands make two servers, a log, two
/// runs, and a file of servers.
fn set_up() -> Vec<String> {
    let servers = "[[profile]]\nname = \"hello\"\npath = \"/\"\n";
    let entry = |name: &str, port: u16| format!("[[entry]]\nname = \"{name}\"\nurl = \"http://127.0.0.1:{port}\"\n");
    let servers = format!("{servers}{}{}", entry("a", 8080), entry("b", 8081));
    let log = "seq 0 99 | awk '{printf \"10.0.0.9 - - [26/Nov/2026:08:00:%02d +0000] \\\"GET / HTTP/1.1\\\" 200 9\\n\", $1/50}' > access.log";
    let kept = |name: &str| format!("loadline load http://127.0.0.1:8080/ --duration 300ms --out {name}");
    [
        "loadline serve --listen 127.0.0.1:8080 --option work_us=100 &".into(),
        "loadline serve --listen 127.0.0.1:8081 --option work_us=100 &".into(),
        log.into(),
        kept("old"),
        kept("new"),
        kept("runs/a"),
        kept("runs/b"),
        format!("cat > servers.toml <<'END'\n{servers}END"),
    ]
    .into()
}

/// Returns the commands in the code blocks of a page that run loadline, or create files for it.
fn commands(page: &str) -> Vec<String> {
    let lines = page.lines().filter_map(|line| line.strip_prefix("    "));
    let lines = lines
        .map(|line| line.trim_start().trim_start_matches("$ ").trim_start_matches("- ").trim_start_matches("run: "));
    let concerns = |line: &&str| line.starts_with("loadline ") || FILES.iter().any(|file| line.starts_with(file));
    lines.filter(concerns).map(String::from).collect()
}

/// Returns the reason why the test does not run a command; `None` if it runs the command.
fn exception(command: &str) -> Option<&'static str> {
    EXCEPTIONS.iter().find(|(first, _)| command.starts_with(first)).map(|(_, reason)| *reason)
}

/// Returns the commands of a page that the test runs, after the commands that the page assumes to have run before.
/// Returns an empty list for a page whose commands only start servers or create files.
fn session(name: &str, page: &str) -> Vec<String> {
    let commands: Vec<String> = commands(page).into_iter().filter(|command| exception(command).is_none()).collect();
    if !commands.iter().any(|command| command.starts_with("loadline ") && !command.starts_with("loadline serve")) {
        return Vec::new();
    }
    let before = BEFORE.iter().filter(|(page, _)| name == *page).map(|(_, command)| (*command).to_owned());
    let mut all: Vec<String> = before.chain(commands).collect();
    let shortened = shorter(&all.join("\n"));
    let starts = |all: &[String], server: &str| {
        let address = server.split(' ').nth(3).unwrap_or_default();
        all.iter().any(|command| command.starts_with("loadline serve") && command.contains(address))
    };
    for (part, server) in SERVERS {
        if shortened.contains(part) && !starts(&all, server) {
            all.insert(0, (*server).into());
        }
    }
    all
}

/// Replaces the texts in [`SHORTER`] in a script. If the script makes a prediction, keeps its time budgets, because the
/// prediction needs a complete search.
fn shorter(script: &str) -> String {
    let predicts = script.contains("loadline what-if");
    let replacements = SHORTER.iter().filter(|(page, _)| !predicts || !page.starts_with("--budget"));
    replacements.fold(script.to_owned(), |script, (page, test)| script.replace(page, test))
}

/// Returns the paths of README.md and of all pages of docs/.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let (mut folders, mut pages) = (vec![root.join("docs")], vec![root.join("README.md")]);
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            match path.extension().is_some_and(|end| end == "md") {
                true => pages.push(path),
                false if path.is_dir() => folders.push(path),
                false => {}
            }
        }
    }
    pages.sort();
    pages
}

/// Returns a script that runs the given commands. After a command that starts a server, the script waits until the
/// server listens. The script's exit status is the status of the first command that failed.
pub(super) fn script(commands: &[String]) -> String {
    let mut script = String::from("trap 'kill $(jobs -p)' EXIT\n");
    for command in commands {
        script.push_str(&match command.split_once("127.0.0.1:").filter(|_| command.starts_with("loadline serve")) {
            Some((_, rest)) => {
                let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
                // An HTTP/3 server has no TCP port. The kernel lists its UDP port in hexadecimal digits.
                let listens = match command.starts_with("loadline serve h3") {
                    true => format!("grep -q $(printf ':%04X' {port}) /proc/net/udp"),
                    false => format!("(: </dev/tcp/127.0.0.1/{port}) 2>/dev/null"),
                };
                format!("{command}\nuntil {listens}; do sleep 0.05; done\n")
            }
            // Statuses 1 (a change for the worse, or an exceeded limit) and 3 (an undecided comparison) are results,
            // not errors.
            None => format!("{command}\nstatus=$?; case $status in 0|1|3) ;; *) exit $status;; esac\n"),
        });
    }
    PORTS
        .chain([8080, 8081, 8082])
        .fold(shorter(&script), |script, port| script.replace(&port.to_string(), &free_port().to_string()))
}

/// Runs a script in an empty folder. If the script fails, returns the script's status, error output and text.
pub(super) fn run(script: &str) -> Result<(), String> {
    let dir = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_loadline")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash").args(["-c", script]).current_dir(dir.path()).env("PATH", path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{}\n{said}\n{script}", output.status)) }
}

/// Titles of sections whose commands need servers that other tests start: those of `targets.rs` and
/// `greeting_peers.rs`.
const TRIED_ELSEWHERE: [&str; 2] = ["Targets", "Servers that speak first"];

/// Runs the commands of the pages that are chosen by their folder and file name. At least `expected` of these pages
/// have commands.
fn run_pages(is_chosen: fn(folder: &str, name: &str) -> bool, expected: usize) {
    let mut ran = 0;
    for page in pages() {
        let folder = page.parent().and_then(Path::file_name).unwrap().to_string_lossy();
        let name = page.file_name().unwrap().to_string_lossy();
        let text = std::fs::read_to_string(&page).unwrap();
        let text = TRIED_ELSEWHERE.iter().fold(text, |text, title| match super::targets::section_of(&text, title) {
            Some(section) => text.replace(section, ""),
            None => text,
        });
        let commands = session(&name, &text);
        if !commands.is_empty() && is_chosen(&folder, &name) {
            let begun = std::time::Instant::now();
            run(&script(&commands)).unwrap_or_else(|why| panic!("{}: {why}", page.display()));
            println!("{name}: {:.0} s", begun.elapsed().as_secs_f64());
            ran += 1;
        }
    }
    assert!(ran >= expected, "only {ran} pages have commands");
}

/// Page with a prediction. Other programs on the CPUs would leave the page's run without a clear bottleneck, so that no
/// prediction is possible.
const PREDICTS: &str = "what-if.md";

/// First letters of the file names of the how-to pages in the first of two tests. The two tests run side by side.
const FIRST_LETTERS: std::ops::Range<&str> = "a".."j";

#[test]
fn the_commands_of_the_first_how_to_pages_run() {
    run_pages(|folder, name| folder == "how-to" && FIRST_LETTERS.contains(&name), 5);
}

#[test]
fn the_commands_of_the_last_how_to_pages_run() {
    run_pages(|folder, name| folder == "how-to" && !FIRST_LETTERS.contains(&name), 5);
}

#[test]
fn the_commands_of_explanations_run() {
    run_pages(|folder, name| folder == "explanation" && name != PREDICTS, 6);
}

mod light {
    use super::*;

    #[test]
    fn the_commands_of_the_page_on_predictions_run() {
        run_pages(|_, name| name == PREDICTS, 1);
    }
}

#[test]
fn the_commands_of_the_other_pages_run() {
    run_pages(|folder, _| !["how-to", "explanation"].contains(&folder), 3);
}

#[test]
fn every_exception_is_a_command_of_a_page() {
    let texts: Vec<String> = pages().iter().map(|page| std::fs::read_to_string(page).unwrap()).collect();
    let all: Vec<String> = texts.iter().flat_map(|text| commands(text)).collect();
    for (first, reason) in EXCEPTIONS {
        assert!(all.iter().any(|command| command.starts_with(first)), "no page has `{first}` ({reason})");
    }
    assert!(all.len() > 30, "{all:#?}");
}

#[test]
fn the_commands_of_the_table_of_jobs_run() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let commands = table(&std::fs::read_to_string(readme).unwrap());
    assert!(commands.len() >= 15, "{commands:#?}");
    let latest = "mkdir -p loadline-runs && ln -sfn ../latest-find loadline-runs/latest".to_owned();
    let commands = commands.into_iter().flat_map(|command| [command, latest.clone()]);
    run(&script(&set_up().into_iter().chain(commands).collect::<Vec<_>>())).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn a_wrong_command_of_a_page_is_found() {
    let found = session("page.md", "    loadline load http://127.0.0.1:19381/ --nosuch 1\n");
    assert!(found[0].starts_with("loadline serve") && found.len() == 2, "{found:?}");
    assert!(run(&script(&found)).unwrap_err().contains("--nosuch"));
}
