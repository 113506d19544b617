//! Servers in containers, started from images by an installed engine such as docker.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::servers::{Limits, quoted};
use crate::via::{ENGINES, Engine};

/// Maximum time to wait for an engine, such as docker, to report its state.
const INFO_TIMEOUT: Duration = Duration::from_secs(20);
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
    let mut info = Command::new(engine.name);
    let info = info.arg("info").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = info.spawn() else { return false };
    let deadline = Instant::now() + INFO_TIMEOUT;
    while Instant::now() < deadline {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => std::thread::sleep(INTERVAL),
            Err(_) => return false,
        }
    }
    // An engine that does not answer is not usable, even if it cannot be killed.
    let _ = child.kill();
    let _ = child.wait();
    false
}

/// A container that runs one server of the comparison. Dropping this value removes the container, if it still exists.
pub(super) struct Container {
    engine: &'static Engine,
    name: String,
}

impl Container {
    /// Returns a container that has not been started.
    pub(super) fn new(engine: &'static Engine, entry: &str) -> Self {
        Self { engine, name: format!("loadline-arena-{}-{entry}", std::process::id()) }
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
        let mut remove = Command::new(self.engine.name);
        // Ignore errors, because the container has usually removed itself already.
        let _ = remove
            .args(["rm", "--force", &self.name])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
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
        let name = format!("loadline-arena-{}-nginx", std::process::id());
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
}
