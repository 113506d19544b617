//! The GitHub action in this repository (`action.yml`): its steps run in an empty folder, as on a runner of GitHub
//! Actions.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use testkit::{alone, free_port};

/// A step: its script, and its variables with their values as written in the file.
#[derive(Debug, Default)]
struct Step {
    variables: BTreeMap<String, String>,
    script: String,
}

/// Reads the steps of the action. The steps always have the same form: `env:` with one variable per line, and `run:` at
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

/// A folder with the files that a runner has.
struct Runner {
    dir: tempfile::TempDir,
}

impl Runner {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        ["temp", "bin", "work"].iter().for_each(|name| std::fs::create_dir(dir.path().join(name)).unwrap());
        // A substitute for `gh`, which stores its arguments and the comment.
        let gh = dir.path().join("bin/gh");
        let text = "#!/bin/sh\necho \"$@\" >\"$RUNNER_TEMP/gh\"\ncat \"$5\" >\"$RUNNER_TEMP/comment\"\n";
        std::fs::write(&gh, text).unwrap();
        std::fs::set_permissions(&gh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        Self { dir }
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(file)).unwrap_or_default()
    }

    /// Runs all steps with a command line of loadline. Returns the output of the first step that fails.
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
            "${{ inputs.program }}" => env!("CARGO_BIN_EXE_loadline").to_owned(),
            "${{ inputs.undecided }}" => undecided.to_owned(),
            "${{ inputs.comment }}" => "true".to_owned(),
            "${{ github.event.pull_request.html_url }}" => "https://example.org/pull/7".to_owned(),
            "${{ steps.measure.outputs.status }}" => status.clone().unwrap_or_default(),
            "${{ inputs.token }}" | "${{ github.action_path }}" => String::new(),
            other => panic!("the step uses {other}"),
        };
        let added: Vec<String> = self.read("path").lines().map(str::to_owned).collect();
        let path = added.into_iter().chain([of("bin"), std::env::var("PATH").unwrap()]).collect::<Vec<_>>().join(":");
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &step.script]).current_dir(root.join("work"));
        command.env("PATH", path).env("RUNNER_TEMP", of("temp"));
        command
            .env("GITHUB_PATH", of("path"))
            .env("GITHUB_OUTPUT", of("output"))
            .env("GITHUB_STEP_SUMMARY", of("summary"));
        command.envs(step.variables.iter().map(|(name, text)| (name, value(text)))).output().unwrap()
    }
}

#[test]
fn the_action_compares_two_commands_and_comments() {
    let _alone = alone();
    let serve = |port: u16, us: u32| {
        let program = env!("CARGO_BIN_EXE_loadline");
        format!("'{program} serve --listen 127.0.0.1:{port} --cpus 1 --option work_us={us}'")
    };
    let ports = [free_port(), free_port()];
    let line = format!(
        "compare http://127.0.0.1:{}/ http://127.0.0.1:{}/ --command-a {} --command-b {} --budget 16s",
        ports[0],
        ports[1],
        serve(ports[0], 500),
        serve(ports[1], 1000)
    );
    let runner = Runner::new();
    let failed = runner.run(&line, "pass").expect("twice the CPU time is a regression");
    let said = format!("{failed:?}{}", runner.read("summary"));
    assert_eq!(failed.status.code(), Some(1), "{said}");
    assert!(runner.read("summary").contains("slower") && runner.read("temp/comment").contains("slower"), "{said}");
    assert!(runner.read("temp/gh").starts_with("pr comment https://example.org/pull/7 --body-file"), "{said}");
}

#[test]
fn the_action_checks_expectations_and_passes_on_the_status() {
    let _alone = alone();
    let server = testkit::serve(Path::new(env!("CARGO_BIN_EXE_loadline")), 0, &[]);
    let line = |limit: &str| format!("load http://{}/ --rate 100 --duration 2s --expect '{limit}'", server.addr);
    let runner = Runner::new();
    let failed = runner.run(&line("p50<10s"), "");
    assert!(failed.is_none(), "{failed:?}");
    assert!(runner.read("summary").contains("Met: p50"), "{}", runner.read("summary"));
    let runner = Runner::new();
    let failed = runner.run(&line("p50<1ns"), "").expect("a broken limit");
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    // The shell must not execute words of the command line as commands.
    let runner = Runner::new();
    let failed = runner.run("load $(touch ran) `touch ran`; touch ran", "").expect("no such target");
    let file = runner.dir.path().join("work/ran");
    assert!(!file.exists() && failed.status.code() == Some(2), "{failed:?}");
    assert!(runner.read("summary").contains("status 2"), "{}", runner.read("summary"));
}
