//! Tests of the full-screen view in a real terminal (tmux). The tests check the contents of the view at each size. The
//! tests of the view also check that loadline restores the terminal, however the run ends.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;

use testkit::{Running, binary, children, eventually, has, num, serve};

/// A terminal of a tmux server that only this test uses. A shell runs one command line in the terminal.
struct Terminal {
    dir: tempfile::TempDir,
}

impl Terminal {
    fn open(width: u16, height: u16, line: &str) -> Self {
        let terminal = Self { dir: tempfile::tempdir().unwrap() };
        let script = format!("{line}; echo STATUS=$?; stty -a; exec sleep 600");
        let size = [width.to_string(), height.to_string()];
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", &size[0], "-y", &size[1], &script]);
        terminal
    }

    fn tmux(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(self.dir.path().join("socket")).args(args).current_dir(self.dir.path());
        let output = command.env("TERM", "xterm").env_remove("NO_COLOR").output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until the screen contains all the texts in `words`, and returns the text of the screen.
    #[track_caller]
    fn shows(&self, words: &[&str]) -> String {
        let mut seen = String::new();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while std::time::Instant::now() < until {
            seen = self.screen();
            if words.iter().all(|word| seen.contains(word)) {
                return seen;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("{words:?} are not all there:\n{seen}");
    }

    /// Returns the process ID of the loadline command that the shell runs.
    fn pid(&self) -> u32 {
        let shell: u32 = self.tmux(&["display", "-p", "#{pane_pid}"]).trim().parse().unwrap();
        eventually(|| children(shell).first().copied())
    }

    /// Checks that the run's exit status was `status`, and that the terminal is restored. The view must have ended, the
    /// cursor must be visible, and the terminal must echo keys and read line by line.
    #[track_caller]
    fn is_as_before(&self, status: u8) {
        let text = self.shows(&[&format!("STATUS={status}"), "icanon", "echo"]);
        assert!(!text.contains("-icanon") && !text.contains("-echo "), "{text}");
        assert_eq!(self.tmux(&["display", "-p", "#{alternate_on} #{cursor_flag}"]).trim(), "0 1", "{text}");
    }

    /// Returns all output, including lines that have scrolled off the screen.
    fn printed(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-S", "-200"])
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

fn load(server: &Running, more: &str) -> String {
    let url = format!("http://{}/", server.addr);
    format!("{} load {url} --connections 2 --duration 60s --at-rest 0.2s {more}", binary!().display())
}

/// Parts that the view shows for any load.
const PARTS: [&str; 8] = [
    "loadline load http://",
    "completed",
    "p99",
    "now ",
    "processes ",
    "busiest ",
    "errors     none",
    "q ends the run",
];

#[test]
fn at_80_by_24_the_view_is_readable_and_q_keeps_the_measurements() {
    if !has("the view at 80 x 24", "tmux") {
        return;
    }
    let server = serve(binary!(), 0, &[]);
    let terminal = Terminal::open(80, 24, &load(&server, ""));
    terminal.shows(&PARTS);
    let text = terminal.shows(&["measuring", "user ", "CPUs"]);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    terminal.tmux(&["send-keys", "Space"]);
    terminal.shows(&["paused"]);
    terminal.tmux(&["send-keys", "Space"]);
    terminal.shows(&["space pauses"]);
    terminal.tmux(&["send-keys", "q"]);
    terminal.is_as_before(130);
    let text = terminal.printed();
    assert!(text.contains("Interrupted") && text.contains("report: ") && !text.contains("busiest █"), "{text}");
    let run = std::fs::read_to_string(terminal.dir.path().join("loadline-runs/latest/run.json")).unwrap();
    assert!(run.contains("\"interrupted\":true"));
}

#[test]
fn plus_and_minus_change_the_rate_of_an_open_loop_and_the_run_records_it() {
    if !has("keys that change the rate", "tmux") {
        return;
    }
    let server = serve(binary!(), 0, &[]);
    let line = load(&server, "--rate 200 --arrival constant --warmup 0.5s").replace("--connections 2 ", "");
    let terminal = Terminal::open(80, 24, &line);
    terminal.shows(&["measuring", "+ - rate 200/s"]);
    terminal.tmux(&["send-keys", "+", "+", "+", "-", "+", "+"]);
    let text = terminal.shows(&["+ - rate 293/s"]);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // The view shows the rate at which requests complete. After the user raised the rate, the shown rate must be above
    // 250 per second.
    let completed = |text: &str| -> Option<f64> {
        let now = text.lines().find(|line| line.starts_with("now "))?;
        now.split_whitespace().nth(1)?.trim_end_matches(['/', 's', ',']).parse().ok()
    };
    eventually(|| completed(&terminal.screen()).filter(|rate| *rate > 250.0));
    terminal.tmux(&["send-keys", "q"]);
    terminal.is_as_before(130);
    let run = std::fs::read_to_string(terminal.dir.path().join("loadline-runs/latest/run.json")).unwrap();
    let run: serde_json::Value = serde_json::from_str(&run).unwrap();
    let trial = &run["trials"][0];
    let rates: Vec<f64> = trial["by_hand"].as_array().unwrap().iter().map(|given| num(&given["rate"])).collect();
    assert!(rates[0] == 200.0 && (rates.last().unwrap() - 292.82).abs() < 1e-6, "{rates:?}");
    // The offered rate in the measured window lies between the lowest and the highest rate that the user set. The run's
    // planned rate must equal the offered rate in the measured window.
    let offered = num(&trial["offered_rate"]);
    assert!((199.9..293.0).contains(&offered) && trial["intensity"]["rate"] == trial["offered_rate"], "{offered}");
    assert!(trial["label"].as_str().unwrap().contains("by hand"), "{}", trial["label"]);
}

#[test]
fn the_view_fills_a_large_terminal_and_follows_a_resize() {
    if !has("the view at 200 x 60", "tmux") {
        return;
    }
    let server = serve(binary!(), 0, &[]);
    let terminal = Terminal::open(200, 60, &load(&server, ""));
    let text = terminal.shows(&PARTS);
    assert!(text.lines().count() > 40, "the keys are in the last line:\n{text}");
    terminal.tmux(&["resize-window", "-x", "80", "-y", "24"]);
    let fits =
        |text: &str| text.lines().last().is_some_and(|line| line.starts_with("q ends")) && text.lines().count() <= 24;
    eventually(|| fits(terminal.screen().trim_end()).then_some(()));
    terminal.shows(&PARTS);
    terminal.tmux(&["send-keys", "C-c"]);
    terminal.is_as_before(130);
    assert!(terminal.printed().contains("Interrupted"));
}

#[test]
fn any_signal_that_ends_loadline_restores_the_terminal() {
    if !has("the view and signals", "tmux") {
        return;
    }
    let server = serve(binary!(), 0, &[]);
    for (name, times, status) in [("TERM", 1, 130), ("HUP", 1, 130), ("INT", 3, 130), ("QUIT", 1, 131)] {
        let terminal = Terminal::open(80, 24, &load(&server, "--force --out out"));
        terminal.shows(&PARTS);
        let pid = terminal.pid();
        // The third signal in a row ends loadline at once. Signals after the third signal find no process, because the
        // process has already ended.
        let kills = format!("kill -{name} {pid}; ").repeat(times);
        Command::new("sh").args(["-c", &kills]).stderr(std::process::Stdio::null()).status().unwrap();
        terminal.is_as_before(status);
    }
}

#[test]
fn no_view_with_a_flag_a_dumb_terminal_or_a_pipe() {
    if !has("no view", "tmux") {
        return;
    }
    let server = serve(binary!(), 0, &[]);
    let lines = [
        load(&server, "--no-live").replace("60s", "3s"),
        format!("TERM=dumb {}", load(&server, "--live").replace("60s", "1s")),
        format!("{} | cat", load(&server, "--live").replace("60s", "1s")),
    ];
    let terminals = lines.map(|line| Terminal::open(80, 24, &line));
    eventually(|| {
        let over = |terminal: &Terminal| {
            assert_eq!(terminal.tmux(&["display", "-p", "#{alternate_on}"]).trim(), "0", "{}", terminal.screen());
            terminal.screen().contains("STATUS=")
        };
        terminals.iter().all(over).then_some(())
    });
    terminals.iter().for_each(|terminal| assert!(terminal.printed().contains("STATUS=0"), "{}", terminal.printed()));
}

#[test]
fn a_load_by_other_hosts_is_shown_and_its_rate_changed_by_hand() {
    if !has("the view of other hosts", "tmux") {
        return;
    }
    let server = serve(binary!(), 0, &[]);
    let (via, own) = (tempfile::NamedTempFile::new().unwrap().into_temp_path(), binary!().display());
    // All hosts are this machine, because the command in `--via` ignores the host's name.
    std::fs::write(&via, "shift\nexec sh -c \"$*\"\n").unwrap();
    let hosts = format!("--client-hosts a,b --agent-path {own} --via 'sh {} {{host}}'", via.display());
    let load = format!("{own} load http://{}/ --rate 100 --duration 60s --at-rest 0.2s {hosts}", server.addr);
    let terminal = Terminal::open(80, 24, &load);
    terminal.shows(&["completed", "now ", "processes ", "errors     none", "rate 100/s", "q ends the run"]);
    terminal.shows(&["measuring"]);
    // During the load, both client hosts report their CPU use.
    terminal.shows(&["clients  ", "a ", "b ", "processes  client "]);
    terminal.tmux(&["send-keys", "+"]);
    terminal.shows(&["rate 110/s"]);
    terminal.tmux(&["send-keys", "q"]);
    terminal.is_as_before(130);
    let run = std::fs::read_to_string(terminal.dir.path().join("loadline-runs/latest/run.json")).unwrap();
    assert!(run.contains("the rate was changed by hand"), "{}", terminal.printed());
}
