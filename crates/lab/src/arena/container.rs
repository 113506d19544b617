//! Servers in containers, started from images by an installed engine such as docker.

use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::owner;
use crate::servers::{Limits, quoted};
use crate::via::{ENGINES, Engine};

/// Beginning of the names of all containers. The complete name also contains the machine, the user and the conductor.
const PREFIX: &str = "loadline-arena-";
/// Maximum time to wait for an engine, such as docker, to report its state or its containers, or to remove a container.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Interval between checks of the container engine.
const INTERVAL: Duration = Duration::from_millis(20);

/// Returns the first engine that works on this machine and can start containers from images.
pub(super) fn usable_engine() -> Result<&'static Engine, String> {
    let engines = || ENGINES.iter().filter(|engine| !engine.starts.is_empty());
    engines().find(|engine| works(engine)).ok_or_else(|| {
        let names: Vec<&str> = engines().map(|engine| engine.name).collect();
        format!(
            "an image needs {}, and none of them works here: install one, see what `{} info` says, or give a command",
            names.join(" or "),
            names.first().copied().unwrap_or_default()
        )
    })
}

/// Returns true if the engine reports its state. The `docker` command reports the engine's state only if docker's
/// daemon runs.
fn works(engine: &Engine) -> bool {
    let info = call(engine, &["info"], Stdio::null());
    info.is_some_and(|(status, _)| status.success())
}

/// Calls an engine. Returns the engine's exit status and its output to a pipe; `None` if it does not end in time.
fn call(engine: &Engine, arguments: &[&str], stdout: Stdio) -> Option<(ExitStatus, String)> {
    let mut command = Command::new(engine.name);
    let mut child = command.args(arguments).stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null()).spawn().ok()?;
    let deadline = Instant::now() + TIMEOUT;
    while Instant::now() < deadline {
        match child.try_wait() {
            Ok(Some(status)) => {
                let text = child.stdout.take().and_then(|pipe| std::io::read_to_string(pipe).ok());
                return Some((status, text.unwrap_or_default()));
            }
            Ok(None) => std::thread::sleep(INTERVAL),
            Err(_) => break,
        }
    }
    // An engine that does not answer is not usable, so an error of the kill does not matter.
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// Removes a container, with its processes. Returns false if it could not be removed.
fn remove(engine: &Engine, name: &str) -> bool {
    call(engine, &["rm", "--force", name], Stdio::null()).is_some_and(|(status, _)| status.success())
}

/// Removes the containers of comparisons that were killed, because a container may outlive all processes that loadline
/// started. Returns a sentence for the user if it removed any container.
pub(super) fn remove_left(engine: &Engine) -> Option<String> {
    let filter = format!("name={PREFIX}");
    let list = ["ps", "--all", "--filter", &filter, "--format", "{{.Names}}"];
    let (_, names) = call(engine, &list, Stdio::piped())?;
    let removed: Vec<&str> = names.lines().filter(|name| is_left(name) && remove(engine, name)).collect();
    (!removed.is_empty()).then(|| format!("removed containers that a killed loadline left: {}", removed.join(", ")))
}

/// Returns true if a name belongs to a container whose conductor no longer exists. Returns false for a conductor on
/// another machine (machines may share an engine) or of another user (whose processes may be hidden).
fn is_left(name: &str) -> bool {
    place().is_some_and(|place| name.strip_prefix(&place).is_some_and(owner::is_gone))
}

/// Returns the first part of the names of containers of this machine (since its boot) and user; `None` if the machine
/// has no unique name.
fn place() -> Option<String> {
    let boot = probe::boot_id().replace('-', "");
    (!boot.is_empty()).then(|| format!("{PREFIX}{boot}-{}-", sys::limits::user_id()))
}

/// A container that runs one server of the comparison. Dropping this value removes the container, if it still exists.
pub(super) struct Container {
    engine: &'static Engine,
    name: String,
}

impl Container {
    /// Returns a container that has not been started.
    pub(super) fn new(engine: &'static Engine, entry: &str) -> Self {
        let place = place().unwrap_or_else(|| PREFIX.into());
        Self { engine, name: format!("{place}{}-{entry}", owner::own_name()) }
    }

    /// Returns the shell command that starts the container. `words` come after the name of the image in the returned
    /// command.
    pub(super) fn command(&self, image: &str, words: &str, port: u16, limits: Limits, cpus: &[u32]) -> String {
        let start = self.engine.starts.iter().map(|word| quoted(&word.replace("{host}", &self.name)));
        let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        let options = [
            Some(format!("--env=PORT={port}")),
            (!cpus.is_empty()).then(|| format!("--cpuset-cpus={}", cpus.join(","))),
            limits.quota.map(|quota| format!("--cpus={quota}")),
            limits.memory_bytes.map(|bytes| format!("--memory={bytes}")),
        ];
        let parts: Vec<String> = start.chain(options.into_iter().flatten()).collect();
        format!("exec {} {} {words}", parts.join(" "), quoted(image))
    }

    /// Returns the shell command that downloads an image, unless this machine already has it.
    pub(super) fn pull(engine: &Engine, image: &str) -> String {
        let (engine, image) = (engine.name, quoted(image));
        format!("{engine} image inspect {image} >/dev/null 2>&1 || {engine} pull {image}")
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // The container has usually removed itself already.
        remove(self.engine, &self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_starts_with_its_limits() {
        let engine = ENGINES.iter().find(|engine| engine.name == "podman").unwrap();
        let limits = Limits { quota: Some(0.5), memory_bytes: Some(1024) };
        let container = Container::new(engine, "nginx");
        let command = container.command("nginx:1", "nginx -g x", 80, limits, &[1, 2]);
        let name = container.name.clone();
        assert_eq!(
            command,
            format!(
                "exec 'podman' 'run' '--rm' '--network=host' '--name={name}' --env=PORT=80 --cpuset-cpus=1,2 --cpus=0.5 \
                 --memory=1024 'nginx:1' nginx -g x"
            )
        );
        std::mem::forget(container);
        let docker = ENGINES.iter().find(|engine| engine.name == "docker").unwrap();
        let pull = Container::pull(docker, "it's:1");
        assert_eq!(pull, r"docker image inspect 'it'\''s:1' >/dev/null 2>&1 || docker pull 'it'\''s:1'");
    }

    #[test]
    fn only_containers_without_their_conductor_are_removed() {
        let container = Container::new(&ENGINES[0], "nginx");
        let own = container.name.clone();
        std::mem::forget(container);
        let (rest, _) = own.strip_suffix("-nginx").unwrap().rsplit_once('-').unwrap();
        assert!(is_left(&format!("{rest}-7-nginx")), "another process had this number");
        assert!(!is_left(&own), "its conductor runs");
        let user = format!("-{}-", sys::limits::user_id());
        let place = format!("{PREFIX}{}", probe::boot_id().replace('-', ""));
        let elsewhere = rest.replace(&place, &format!("{PREFIX}{}", "0".repeat(32)));
        let of_another_user = rest.replacen(&user, "-4000000000-", 1);
        for kept in [elsewhere, of_another_user] {
            assert_ne!(kept, rest);
            assert!(!is_left(&format!("{kept}-7-nginx")), "{kept}");
        }
        assert!(["loadline-arena-nginx", "loadline-arena-17-nginx", "postgres"].iter().all(|name| !is_left(name)));
    }
}
