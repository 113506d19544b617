//! Where the connections are: on the loopback of a namespace of their own, so that neither the ports nor the connection
//! tracking of this machine are in it and what is left in TIME_WAIT goes with it; on this machine's where there can be none.

use lab::{Host, Lab, Local, NamespaceHost};
use testbed::{Spec, Testbed};

/// Hosts of both sides.
pub(super) struct Stage {
    server: Box<dyn Host>,
    client: Box<dyn Host>,
    /// Keeps the namespace.
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

    /// A process in the namespace, whose sockets are counted.
    pub(super) fn netns_pid(&self) -> Option<u32> {
        self.bed.as_ref().and_then(|bed| bed.netns_pid("server").ok())
    }
}
