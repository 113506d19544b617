//! Network of the experiment: the loopback interface of a separate network namespace. Connections in a namespace of
//! their own use up no ports, connection tracking entries or TIME_WAIT sockets of this machine. If the user may not
//! create namespaces, the experiment uses this machine's own loopback interface.

use lab::{Host, Lab, Local, NamespaceHost};
use testbed::{Spec, Testbed};

/// Hosts on which the servers and the generators run.
pub(super) struct Stage {
    server: Box<dyn Host>,
    client: Box<dyn Host>,
    /// Testbed that owns the network namespace; `None` if the experiment uses this machine's loopback interface.
    bed: Option<Testbed>,
}

impl Stage {
    pub(super) fn build(lab: &mut Lab<'_>) -> Self {
        match Self::namespace() {
            Ok(stage) => stage,
            Err(why) => {
                lab.note(format!(
                    "there is no network namespace for the connections, so they are on this machine's loopback: {why}"
                ));
                Self { server: Box::new(Local::default()), client: Box::new(Local::default()), bed: None }
            }
        }
    }

    fn namespace() -> Result<Self, lab::LabError> {
        let bed = Testbed::build(&Spec::server_and_clients(1, "loopback"))?;
        let host = |name: &str| NamespaceHost::in_testbed(&bed, name).map(|host| Box::new(host) as Box<dyn Host>);
        Ok(Self { server: host("server")?, client: host("client1")?, bed: Some(bed) })
    }

    pub(super) fn server(&self) -> &dyn Host {
        self.server.as_ref()
    }

    pub(super) fn client(&self) -> &dyn Host {
        self.client.as_ref()
    }

    /// Returns the ID of a process in the network namespace, in which the trial counts sockets. Returns `None` if the
    /// experiment uses this machine's loopback interface.
    pub(super) fn netns_pid(&self) -> Option<u32> {
        self.bed.as_ref().and_then(|bed| bed.netns_pid("server").ok())
    }
}
