//! Programs that use the CPUs of one machine, with their CPU use.

use super::other_programs::{on_machine_of, taken_on_machine_of};
use crate::Facts;
use crate::context::facts::loopback;
use crate::context::view::View;
use crate::number::{cpus, figure};
use crate::thresholds::MORE_THAN_ALL;

/// Programs that use the CPUs of one machine.
pub(crate) struct CpuUsers {
    /// Names of the programs, each with its CPU use, in CPUs.
    parts: Vec<(&'static str, f64)>,
    /// Number of the machine's CPUs.
    online: f64,
}

impl CpuUsers {
    /// Finds the programs that use the CPUs of the machine of `view`, in one trial whose sides are `views`. Returns
    /// `None` if the CPU use of the server or of the generator is unknown.
    pub(crate) fn of(facts: &Facts<'_>, view: &View<'_>, views: &[View<'_>]) -> Option<Self> {
        let (others, online) = taken_on_machine_of(view, views)?;
        let of_role = |role: &str| {
            let of_role = on_machine_of(view, views).filter(|view| view.role == role);
            of_role.filter_map(View::cpu_used).sum::<f64>()
        };
        let (server, generator) = (of_role("server"), of_role("client"));
        let upstreams = on_machine_of(view, views).map(View::upstream_cpu).sum::<f64>();
        let interrupts = view.host()?.busy - others - server - generator - upstreams;
        let is_server_unread = loopback(facts.run) && views.iter().all(|view| view.role != "server");
        let others = (if is_server_unread { "server and other programs" } else { "other programs" }, others);
        let known = [("server", server), ("generator", generator), ("upstreams", upstreams)];
        let parts = known.into_iter().chain([others, ("soft interrupts", interrupts)]);
        Some(Self { parts: parts.collect(), online })
    }

    /// Lists the programs that use the most CPU time first: `other programs 2.40, server 1.00 of 4 CPUs`. Leaves out
    /// parts that rounding may explain. Returns `None` if no part is left.
    pub(crate) fn text(&self) -> Option<String> {
        let is_seen = |(_, used): &&(&str, f64)| *used >= MORE_THAN_ALL * self.online;
        let mut parts: Vec<&(&str, f64)> = self.parts.iter().filter(is_seen).collect();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        let each: Vec<String> = parts.iter().map(|(name, used)| format!("{name} {}", figure(*used))).collect();
        (!each.is_empty()).then(|| format!("{} of {}", each.join(", "), cpus(self.online)))
    }
}
