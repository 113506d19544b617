use super::*;
use run::ServePlan;
use std::process::Command;
use testkit::eventually;

/// Host for tests: runs this shell script instead of each agent.
pub(crate) struct Shell(pub(crate) String);

impl Host for Shell {
    fn name(&self) -> &str {
        "shell"
    }

    fn command(&self, _: &Path) -> Result<Command, LabError> {
        let mut command = Command::new("sh");
        command.args(["-c", &self.0]);
        Ok(command)
    }

    fn place(&self) -> String {
        self.0.clone()
    }
}

/// Returns shell commands that send an agent's hello (first message) and read its task.
pub(crate) fn hello() -> String {
    format!(r#"echo '{{"is":"hello","wire":{}}}'; read spec; "#, run::WIRE_VERSION)
}

fn group(script: &str) -> Result<(AgentGroup, Vec<Ready>), LabError> {
    let mut group = AgentGroup::default();
    let spec = AgentSpec::Serve { plan: ServePlan::default(), far: false };
    group.start(&Shell(format!("{}{script}", hello())), Path::new("sh"), "server", &spec).unwrap();
    let ready = group.await_ready(Duration::from_secs(20));
    ready.map(|r| (group, r))
}

#[test]
fn a_ready_agent_is_heard_and_told() {
    let ready = r#"echo '{"is":"ready","pid":1,"listening":"127.0.0.1:7","io":"epoll","notes":["n"]}'"#;
    let made = group(&format!("{ready}; read command; echo \"$command\" >&2"));
    let (mut group, ready) = made.unwrap();
    assert_eq!((ready[0].io.as_str(), ready[0].listening.unwrap().port()), ("epoll", 7));
    assert_eq!(group.pids(), [1], "as it says itself: its starter may be a shell, or ssh");
    group.tell_all(&AgentCommand::Stop);
    let (number, event) = group.hear(Instant::now() + Duration::from_secs(20)).unwrap();
    assert!(number == 0 && matches!(&event, AgentEvent::Gone(how) if how.contains(r#""do":"stop""#)), "{event:?}");
}

#[test]
fn an_agent_that_dies_is_named_with_its_last_words() {
    let made = group("echo 'no descriptors left' >&2; exit 3");
    let error = made.unwrap_err().to_string();
    assert!(error.contains(r#"agent "server""#) && error.contains("no descriptors left"), "{error}");
}

/// An agent that is not ready in time must be reported as late, with the time that was waited.
#[test]
fn an_agent_that_does_not_get_ready_is_late() {
    let mut group = AgentGroup::default();
    let spec = AgentSpec::Serve { plan: ServePlan::default(), far: false };
    group.start(&Shell(format!("{}sleep 60", hello())), Path::new("sh"), "server", &spec).unwrap();
    let error = group.await_ready(Duration::from_millis(250)).unwrap_err();
    assert!(matches!(&error, LabError::Late { why, .. } if why.contains("0.25")), "{error}");
}

#[test]
fn an_agent_that_is_killed_before_it_is_ready_is_no_fault_of_its_task() {
    let error = group("kill -9 $$").unwrap_err();
    assert!(matches!(&error, LabError::Killed { why, .. } if why.contains('9')), "{error}");
}

#[test]
fn an_agent_that_cannot_go_on_says_why_itself() {
    let made = group(r#"echo '{"is":"failed","error":"port 80 is taken"}'; sleep 5"#);
    assert!(made.unwrap_err().to_string().contains("port 80 is taken"));
}

#[test]
fn no_agent_outlives_its_group() {
    let made = group(r#"echo '{"is":"ready","pid":'$$',"listening":null,"io":"x","notes":[]}'; exec sleep 60"#);
    let (group, _) = made.unwrap();
    let pid = group.pids()[0];
    assert!(Path::new(&format!("/proc/{pid}")).exists());
    drop(group);
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn another_wire_version_is_one_clear_error() {
    let mut group = AgentGroup::default();
    let script = r#"echo '{"is":"hello","wire":99,"version":"9.9"}'; sleep 60"#;
    let spec = AgentSpec::Serve { plan: ServePlan::default(), far: false };
    group.start(&Shell(script.into()), Path::new("sh"), "server", &spec).unwrap();
    let error = group.await_ready(Duration::from_secs(20)).unwrap_err().to_string();
    let versions = format!("wire version 99, this one {}", run::WIRE_VERSION);
    assert!(error.contains("loadline 9.9") && error.contains(&versions), "{error}");
}

/// The agent writes more than 64 KiB, the capacity of a pipe. Another test, in `pipe_thread`, covers an agent that ends
/// without a message.
#[test]
fn an_agent_that_complains_all_the_time_is_not_held_up() {
    let ready = r#"echo '{"is":"ready","pid":1,"listening":null,"io":"x","notes":[]}'"#;
    let (loud, ready) = group(&format!("head -c 1000000 /dev/zero >&2; {ready}; exec sleep 60")).unwrap();
    assert_eq!((loud.pids(), ready.len()), (vec![1], 1));
}

#[test]
fn an_agent_that_never_reads_does_not_block_the_conductor() {
    let ready = r#"echo '{"is":"ready","pid":1,"listening":null,"io":"x","notes":[]}'"#;
    let (mut group, _) = group(&format!("{ready}; exec sleep 60")).unwrap();
    let note = "x".repeat(1000);
    let command = AgentCommand::Follow { pids: vec![7; note.len()], origin_ns: 0, interval_s: 1.0 };
    let begin = Instant::now();
    (0..1000).for_each(|_| group.tell_all(&command));
    assert!(begin.elapsed() < Duration::from_secs(20), "a pipe takes 64 KiB, this were 2 MB");
}

#[test]
fn bytes_that_are_no_lines_of_an_agent_end_it() {
    let ready = r#"echo '{"is":"ready","pid":1,"listening":null,"io":"x","notes":[]}'"#;
    for (script, words) in [
        (format!("{ready}; head -c 70000 /dev/zero; sleep 60"), "a line of more than 65536 bytes"),
        (format!("{ready}; echo '{{\"is\":\"nonsense\"}}'; sleep 60"), "not a report"),
    ] {
        let (group, _) = group(&script).unwrap();
        let how = eventually(|| match group.hear(Instant::now() + Duration::from_millis(50)) {
            Some((_, AgentEvent::Gone(how))) => Some(how),
            _ => None,
        });
        assert!(how.contains(words), "{how}");
    }
}
