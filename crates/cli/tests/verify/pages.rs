//! Runs the commands in the tutorial, in the how-to pages, and in README.md's table, as a reader would. A block of
//! commands is run if the first one starts a reference server, because the others then need nothing else. Ports are
//! replaced by free ones, and times are shorter.

use std::path::Path;
use std::process::Command;

use testkit::free_port;

/// Folders of docs/ that have pages with commands to copy.
const FOLDERS: &[&str] = &["tutorial", "how-to"];
/// Ports used by the servers on the pages.
const PORTS: std::ops::RangeInclusive<u16> = 19_381..=19_389;
/// Times on the pages, and the shorter times for the test.
const SHORTER: &[(&str, &str)] =
    &[("--budget 20s", "--budget 8s"), ("--duration 10s", "--duration 1s"), ("/20s", "/2s")];

/// Words appended to commands of README.md, by the commands' first words, so that they end soon.
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
/// Parts of README.md's commands that need other hosts or a long time, with their replacements.
const README: &[(&str, &str)] = &[
    ("http://10.0.0.7/", "http://127.0.0.1:8080/"),
    (
        "size http://127.0.0.1:8080/ --command './server'",
        "size http://127.0.0.1:8082/ --command 'loadline serve --listen 127.0.0.1:8082'",
    ),
    ("--server-host web1", "--server-host web1 --via 'env HOST={host}'"),
    ("--users 5000 --think 3s", "--users 50 --think 30ms"),
    ("--duration 60s", "--duration 1s"),
    ("/60s", "/2s"),
];

/// Returns the commands of README.md's table, made shorter.
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

/// Returns commands that make what README.md's table needs: two servers, a log, two runs, and a file of servers.
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

/// Returns the commands of each block that starts a reference server, for one page.
fn sessions(page: &str) -> Vec<Vec<String>> {
    let blocks = page.split("\n\n").map(|block| {
        let commands = block.lines().filter_map(|line| line.strip_prefix("    $ "));
        commands.map(String::from).collect::<Vec<_>>()
    });
    blocks.filter(|commands| commands.first().is_some_and(|first| first.starts_with("loadline serve"))).collect()
}

/// Returns a script with these commands. If it starts a server, it waits until the server listens. Its exit status is
/// that of the first command that failed.
fn script(commands: &[String]) -> String {
    let mut script = String::from("trap 'kill $(jobs -p)' EXIT\n");
    for command in commands {
        script.push_str(&match command.split_once("127.0.0.1:").filter(|_| command.starts_with("loadline serve")) {
            Some((_, rest)) => {
                let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
                format!("{command}\nuntil (: </dev/tcp/127.0.0.1/{port}) 2>/dev/null; do sleep 0.05; done\n")
            }
            // The statuses 1 and 3 are results: a regression, a limit that was exceeded, or an undecided comparison.
            None => format!("{command}\nstatus=$?; case $status in 0|1|3) ;; *) exit $status;; esac\n"),
        });
    }
    let script = SHORTER.iter().fold(script, |script, (page, test)| script.replace(page, test));
    PORTS
        .chain([8080, 8081, 8082])
        .fold(script, |script, port| script.replace(&port.to_string(), &free_port().to_string()))
}

/// Runs a script in an empty folder. If it failed, returns its error output.
fn run(script: &str) -> Result<(), String> {
    let dir = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_loadline")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash").args(["-c", script]).current_dir(dir.path()).env("PATH", path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{}\n{said}\n{script}", output.status)) }
}

#[test]
fn the_commands_of_the_pages_run() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut ran = 0;
    for folder in FOLDERS {
        for page in docs.join(folder).read_dir().unwrap() {
            let page = page.unwrap().path();
            for commands in sessions(&std::fs::read_to_string(&page).unwrap()) {
                run(&script(&commands)).unwrap_or_else(|why| panic!("{}: {why}", page.display()));
                ran += 1;
            }
        }
    }
    assert!(ran >= 5, "only {ran} blocks were found");
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
    let page =
        "    $ loadline serve --listen 127.0.0.1:19381 &\n    $ loadline load http://127.0.0.1:19381/ --nosuch 1\n";
    let found = sessions(page);
    assert!(run(&script(&found[0])).unwrap_err().contains("--nosuch"));
}
