//! Tests of the GitHub action in this repository (`action.yml`). The action's steps run in an empty folder, as on a
//! runner of GitHub Actions, and in an empty container.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use testkit::{SetupError, alone, free_port, installed, is_root, or_skip, podman_configuration, static_program};

/// A step of the action: its script, and its environment variables with their values as written in the file.
#[derive(Debug, Default)]
struct Step {
    variables: BTreeMap<String, String>,
    script: String,
}

/// Reads the steps of the action. Each step must have the same layout: `env:` with one variable per line, and `run:` at
/// the end.
fn steps() -> Vec<Step> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../action.yml");
    let text = std::fs::read_to_string(file).unwrap();
    let (_, steps) = text.split_once("\n  steps:\n").unwrap();
    steps.split("    - name: ").skip(1).map(step).collect()
}

fn step(text: &str) -> Step {
    let (head, script) = text.split_once("      run: ").unwrap();
    let variables = head.lines().filter_map(|line| line.strip_prefix("        ")?.split_once(": "));
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let script = match script.strip_prefix("|\n") {
        Some(block) => {
            block.lines().map(|line| format!("{}\n", line.strip_prefix("        ").unwrap_or(line))).collect()
        }
        None => script.to_owned(),
    };
    Step { variables, script }
}

/// Folders of this machine that contain the shell and its tools. The container of a test can only read these folders.
const SHELL_FOLDERS: [&str; 4] = ["/usr", "/bin", "/lib", "/lib64"];

/// A folder with the files that a runner of GitHub Actions has.
struct Runner {
    dir: tempfile::TempDir,
    /// Path of the loadline program that the action uses.
    program: PathBuf,
    /// Environment variables of podman if the steps run in a container, otherwise `None`.
    podman: Option<Vec<(&'static str, PathBuf)>>,
}

impl Runner {
    /// Prepares a runner whose steps run in containers without a network. Programs in each container can use the shell,
    /// its tools and the runner's folder. The runner's folder holds a statically linked copy of loadline.
    fn in_a_container() -> Result<Self, SetupError> {
        installed(&["podman", "runc"])?;
        if !is_root() {
            return Err(SetupError::Missing("no right to start a container".into()));
        }
        let program = static_program(Path::new(env!("CARGO_BIN_EXE_loadline")))?;
        let mut runner = Self::new();
        let root = runner.dir.path();
        ["root", "podman"].iter().for_each(|name| std::fs::create_dir(root.join(name)).unwrap());
        let copy = root.join("loadline");
        std::fs::copy(program, &copy).unwrap();
        runner.podman = Some(podman_configuration(&root.join("podman")));
        runner.program = copy;
        Ok(runner)
    }

    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        ["temp", "bin", "work"].iter().for_each(|name| std::fs::create_dir(dir.path().join(name)).unwrap());
        // A script in place of `gh` (GitHub's command line tool). The script stores its arguments, and the comment that
        // it should publish, in files.
        let gh = dir.path().join("bin/gh");
        let text = "#!/bin/sh\necho \"$@\" >\"$RUNNER_TEMP/gh\"\ncat \"$5\" >\"$RUNNER_TEMP/comment\"\n";
        std::fs::write(&gh, text).unwrap();
        std::fs::set_permissions(&gh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        Self { dir, program: env!("CARGO_BIN_EXE_loadline").into(), podman: None }
    }

    /// Returns the command that runs a shell. In a container, the shell has only the environment variables in
    /// `variables`. Outside of a container, the shell also has the environment variables of the test.
    fn shell(&self, variables: &[(String, String)]) -> Command {
        let root = self.dir.path();
        let Some(podman) = &self.podman else {
            let mut command = Command::new("bash");
            command.current_dir(root.join("work")).envs(variables.iter().cloned());
            return command;
        };
        let mut command = Command::new("podman");
        command.envs(podman.iter().cloned()).args(["run", "--rm", "--network", "none"]);
        for folder in SHELL_FOLDERS.iter().filter(|folder| Path::new(folder).exists()) {
            command.arg("--volume").arg(format!("{folder}:{folder}:ro"));
        }
        command.arg("--volume").arg(format!("{0}:{0}", root.display())).arg("--workdir").arg(root.join("work"));
        command.args(variables.iter().flat_map(|(name, value)| ["--env".to_owned(), format!("{name}={value}")]));
        command.arg("--rootfs").arg(root.join("root")).arg("bash");
        command
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(file)).unwrap_or_default()
    }

    /// Runs all steps of the action, with `line` and `undecided` as the action's inputs `run` and `undecided`. Returns
    /// the output of the first step that fails.
    fn run(&self, line: &str, undecided: &str) -> Option<Output> {
        steps().iter().map(|step| self.step(step, line, undecided)).find(|output| !output.status.success())
    }

    fn step(&self, step: &Step, line: &str, undecided: &str) -> Output {
        let root = self.dir.path();
        let of = |name: &str| root.join(name).display().to_string();
        let status =
            self.read("output").lines().filter_map(|line| line.strip_prefix("status=")).next_back().map(str::to_owned);
        let value = |text: &str| match text {
            "${{ inputs.run }}" => line.to_owned(),
            "${{ inputs.program }}" => self.program.display().to_string(),
            "${{ inputs.undecided }}" => undecided.to_owned(),
            "${{ inputs.comment }}" => "true".to_owned(),
            "${{ github.event.pull_request.html_url }}" => "https://example.org/pull/7".to_owned(),
            "${{ steps.measure.outputs.status }}" => status.clone().unwrap_or_default(),
            "${{ inputs.token }}" | "${{ github.action_path }}" => String::new(),
            other => panic!("the step uses {other}"),
        };
        let added: Vec<String> = self.read("path").lines().map(str::to_owned).collect();
        let usual = if self.podman.is_some() { "/usr/bin:/bin".into() } else { std::env::var("PATH").unwrap() };
        let path = added.into_iter().chain([of("bin"), usual]).collect::<Vec<_>>().join(":");
        let mut variables = vec![("PATH".to_owned(), path), ("RUNNER_TEMP".to_owned(), of("temp"))];
        let files = [("GITHUB_PATH", "path"), ("GITHUB_OUTPUT", "output"), ("GITHUB_STEP_SUMMARY", "summary")];
        variables.extend(files.map(|(name, file)| (name.to_owned(), of(file))));
        variables.extend(step.variables.iter().map(|(name, text)| (name.clone(), value(text))));
        let mut command = self.shell(&variables);
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &step.script]).output().unwrap()
    }
}

/// Returns the arguments of a comparison. In this comparison, the second server uses twice the first server's CPU time
/// per request.
fn twice_the_cpu_time(program: &Path) -> String {
    let ports = [free_port(), free_port()];
    let serve = |port: u16, us: u32| {
        let program = program.display();
        format!("'{program} serve --listen 127.0.0.1:{port} --cpus 1 --option work_us={us}'")
    };
    let urls = ports.map(|port| format!("http://127.0.0.1:{port}/")).join(" ");
    let commands = format!("--command-a {} --command-b {}", serve(ports[0], 500), serve(ports[1], 1000));
    format!("compare {urls} {commands} --budget 16s")
}

/// Runs the action with a comparison in which the second server is worse. Checks the exit status, the summary and the
/// comment.
fn a_regression_fails_and_is_written_down(runner: &Runner) {
    let line = twice_the_cpu_time(&runner.program);
    let failed = runner.run(&line, "pass").expect("twice the CPU time is a regression");
    let said = format!("{failed:?}{}", runner.read("summary"));
    assert_eq!(failed.status.code(), Some(1), "{said}");
    assert!(runner.read("summary").contains("slower") && runner.read("temp/comment").contains("slower"), "{said}");
    assert!(runner.read("temp/gh").starts_with("pr comment https://example.org/pull/7 --body-file"), "{said}");
}

/// Ranks two servers in an empty container. The action must succeed, and the table must contain both servers.
#[test]
fn the_action_ranks_servers_in_an_empty_container() {
    let _alone = alone();
    let test = "the_action_ranks_servers_in_an_empty_container";
    let Some(runner) = or_skip(test, Runner::in_a_container()) else { return };
    let mut file = String::from("[[profile]]\nname = \"page\"\nconnections = 16\n");
    for (name, work_us) in [("quick", 200), ("slow", 800)] {
        file += &format!("[[entry]]\nname = \"{name}\"\nport = 8080\n");
        file += &format!("command = 'exec \"$LOADLINE\" serve --listen 127.0.0.1:$PORT --option work_us={work_us}'\n");
    }
    std::fs::write(runner.dir.path().join("work/arena.toml"), file).unwrap();
    let failed = runner.run("arena arena.toml --budget 32s --out out", "");
    let summary = runner.read("summary");
    assert!(summary.contains("| quick |") && summary.contains("| slow |"), "{failed:?}{summary}");
    assert_eq!(runner.read("temp/comment"), summary, "the comment is the table");
    // If other programs take the generator's CPU, no server has a rank, and the exit status is 1.
    let no_rank = summary.contains("No server got a rank");
    assert_eq!(failed.and_then(|output| output.status.code()), no_rank.then_some(1), "{summary}");
}

/// Without an address, loadline loads a server of its own, so the job needs no other program.
#[test]
fn the_action_checks_expectations_in_an_empty_container() {
    let _alone = alone();
    for (limit, status, words) in [("p50<10s", None, "Met: p50"), ("p50<1ns", Some(1), "Not met: p50")] {
        let test = "the_action_checks_expectations_in_an_empty_container";
        let Some(runner) = or_skip(test, Runner::in_a_container()) else { return };
        let failed = runner.run(&format!("load --rate 100 --duration 2s --expect '{limit}'"), "");
        let summary = runner.read("summary");
        assert!(summary.contains(words), "{failed:?}{summary}");
        assert_eq!(failed.and_then(|output| output.status.code()), status, "{summary}");
        assert_eq!(runner.read("temp/comment"), summary, "the comment is the table");
    }
}

#[test]
fn the_action_checks_expectations_and_passes_on_the_status() {
    let _alone = alone();
    let server = testkit::serve(&Runner::new().program, 0, &[]);
    let line = |limit: &str| format!("load http://{}/ --rate 100 --duration 2s --expect '{limit}'", server.addr);
    let runner = Runner::new();
    let failed = runner.run(&line("p50<10s"), "");
    assert!(failed.is_none(), "{failed:?}");
    assert!(runner.read("summary").contains("Met: p50"), "{}", runner.read("summary"));
    let runner = Runner::new();
    let failed = runner.run(&line("p50<1ns"), "").expect("a broken limit");
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    // The shell must not run parts of loadline's arguments as commands.
    let runner = Runner::new();
    let failed = runner.run("load $(touch ran) `touch ran`; touch ran", "").expect("no such target");
    let file = runner.dir.path().join("work/ran");
    assert!(!file.exists() && failed.status.code() == Some(2), "{failed:?}");
    assert!(runner.read("summary").contains("status 2"), "{}", runner.read("summary"));
}

/// Tests whose result depends on the load that a program of the test reaches.
mod light {
    use super::*;

    #[test]
    fn the_action_compares_two_commands_and_comments() {
        let _alone = alone();
        a_regression_fails_and_is_written_down(&Runner::new());
    }

    #[test]
    fn the_action_needs_nothing_but_a_shell() {
        let _alone = alone();
        let Some(runner) = or_skip("the_action_needs_nothing_but_a_shell", Runner::in_a_container()) else { return };
        a_regression_fails_and_is_written_down(&runner);
        let left = std::fs::read_dir(runner.dir.path().join("work")).unwrap().count();
        assert_eq!(left, 0, "files in the folder of the job");
    }
}
