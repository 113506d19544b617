//! Observer of one host.

use probe::Observer;
use run::ObserverSpec;

use crate::observe::RemoteObserver;

/// Observer of one host: either a part of this process, or an agent on another host.
#[derive(Clone, Debug)]
pub(crate) enum HostObserver {
    Local(Observer),
    Remote(RemoteObserver),
}

impl HostObserver {
    pub(super) fn remote(&self) -> Option<&RemoteObserver> {
        match self {
            Self::Local(_) => None,
            Self::Remote(observer) => Some(observer),
        }
    }

    /// Changes the settings of a local observer. Does nothing to a remote observer, whose settings are fixed.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut ObserverSpec)) {
        if let Self::Local(observer) = self {
            let mut spec = observer.spec().clone();
            change(&mut spec);
            *observer = Observer::new(spec);
        }
    }
}
