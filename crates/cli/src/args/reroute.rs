//! Flags for connecting to a host or an address that differs from the host in the URL. `--connect-to` and `--resolve`
//! work as in curl.

use clap::Args;
use run::{AddressChoice, ConnectTo, FixedAddresses, Target};

/// Flags for other destinations than the host of the URL.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct RerouteArgs {
    /// Connect to HOST2:PORT2 instead of HOST1:PORT1; requests and TLS still name HOST1. Each part may be empty
    #[arg(long, value_name = "HOST1:PORT1:HOST2:PORT2", help_heading = "Target")]
    connect_to: Vec<ConnectTo>,
    /// Use these addresses of HOST instead of looking it up; * for every host
    #[arg(long, value_name = "HOST:PORT:ADDRESS[,ADDRESS...]", help_heading = "Target")]
    resolve: Vec<FixedAddresses>,
    /// Addresses of the name that are loaded: first (that answers), or all in turn [default: first]
    #[arg(long, value_name = "WHICH", value_parser = addresses, help_heading = "Target")]
    addresses: Option<AddressChoice>,
}

impl RerouteArgs {
    /// Puts the given flags before the entries of the plan file, so that the flags of the command line take precedence.
    pub(super) fn apply(&self, target: &mut Target) {
        target.connect_to.splice(..0, self.connect_to.iter().cloned());
        target.resolve.splice(..0, self.resolve.iter().cloned());
        target.addresses = self.addresses.unwrap_or(target.addresses);
    }
}

fn addresses(text: &str) -> Result<AddressChoice, String> {
    match text {
        "first" => Ok(AddressChoice::First),
        "all" => Ok(AddressChoice::All),
        _ => Err("write first or all".into()),
    }
}
