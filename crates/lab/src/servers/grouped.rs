//! Start of a server by a shell command, in a control group.

use std::path::Path;

use run::Address;

use super::control_group::{ControlGroup, Limits};
use super::shell::shell_command;
use crate::{CommandServer, LabError, ServerCommand};

/// Shell command of a server, and the environment in which the command runs.
#[derive(Clone, Copy)]
pub(crate) struct Launch<'a> {
    /// Name of the control group.
    pub(crate) name: &'a str,
    /// The shell command.
    pub(crate) shell: &'a str,
    /// Folder in which the command runs.
    pub(crate) folder: &'a Path,
    /// CPUs that the server may use; empty for all.
    pub(crate) cpus: &'a [u32],
    /// Limits of the server's control group; `None` for a server without a group of its own.
    pub(crate) group: Option<Limits>,
    /// Variables of the command, in addition to `$PORT` and `$LOADLINE`.
    pub(crate) variables: &'a [(&'static str, String)],
}

/// A started server. On drop, the server's processes end before its control group is removed.
pub(crate) struct GroupedServer {
    server: CommandServer,
    _group: Option<ControlGroup>,
}

impl GroupedServer {
    /// Starts a server and waits until it listens, or until `stop` returns true. `program` is the path of loadline
    /// itself.
    pub(crate) fn start(
        launch: Launch<'_>,
        at: &Address,
        program: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, LabError> {
        let make =
            |limits| ControlGroup::make(launch.name, limits).map_err(|why| LabError::set_up("starting a server", why));
        let group = launch.group.map(make).transpose()?;
        let port = at.inet().map_or(0, |addr| addr.port());
        let join = group.as_ref().map_or(String::new(), ControlGroup::join_script);
        let shell = shell_command(launch.folder, port, program, launch.variables, launch.shell);
        let command = ServerCommand {
            shell: format!("{join}{shell}"),
            shown: run::hide_tokens_of_command(launch.shell),
            cpus: launch.cpus.to_vec(),
        };
        Ok(Self { server: CommandServer::start(&command, at, stop)?, _group: group })
    }

    /// Waits for a short interval, and then returns the reason why the server has ended, or `None` if it still runs.
    pub(crate) fn ended(&self) -> Option<String> {
        self.server.ended()
    }
}

/// Checks that control groups with the limits in `limits` can be made. If groups cannot be made but no limit is set,
/// returns false and a note for the user. `asked_by` names the option that needs the limits.
pub(crate) fn can_make_groups(limits: Limits, asked_by: &str) -> Result<(bool, Option<String>), LabError> {
    match ControlGroup::make("test", limits) {
        Ok(_) => Ok((true, None)),
        Err(why) if limits.any() => Err(LabError::set_up(
            "preparing control groups",
            format!("{asked_by} needs the right to make control groups: {why}; run as root, or leave it out"),
        )),
        Err(why) => Ok((false, Some(format!("servers run without control groups of their own: {why}")))),
    }
}
