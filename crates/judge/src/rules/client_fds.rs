//! The generator has no descriptors left: connects that failed with EMFILE or ENFILE are counted one by one.

use run::ErrorKind;

use super::signs::failed_locally;
use super::{Rule, Verdict};
use crate::Facts;

pub(super) const RULE: Rule = Rule {
    id: "client-fds",
    needs: &["errors"],
    judge,
    advice: &[
        "Raise the descriptor limit of the generator: `ulimit -n`, or LimitNOFILE= of its unit, up to the hard limit.",
        "More connections than one process may have are made by several agents: raise --threads.",
    ],
    explain: "The generator counts every connect that failed because its process (EMFILE) or host (ENFILE) had no descriptor \
              left. Such connects never left the machine, so they say nothing about the server. One is enough: the load was \
              not what the plan wanted.",
};

fn judge(facts: &Facts<'_>) -> Verdict {
    failed_locally(facts, ErrorKind::ClientFds, "process.fds", "descriptor", "process.fd_limit")
}
