//! The full disk of the server's host. A lever that writes to another disk tests nothing about a full disk. A lever is
//! a temporary change that an experiment makes, such as slowing a CPU.

use run::Run;

use crate::Facts;
use crate::context::disks::{fullest, is_full};
use crate::context::single::server_of;

/// Returns the name of the server's full disk, such as `vda`. Returns `None` if no disk of the server's host was full
/// in the trials that the verdict is about.
pub fn full_disk(run: &Run) -> Option<String> {
    let view = Facts::of(run).focus().into_iter().filter_map(server_of).find(is_full)?;
    fullest(&view, view.span_s? * 1e6).map(|load| load.disk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{PlantedRun, Who};

    #[test]
    fn only_a_full_disk_has_a_name() {
        let disk =
            |busy: f64| {
                let planted = PlantedRun::new(2000.0, 500.0)
                    .per_s(Who::Server, "disk.busy", "nvme0n1", |_| 0.05e6)
                    .per_s(Who::Server, "disk.busy", "nvme1n1", move |p| p.x / 500.0 * busy * 1e6);
                full_disk(&planted.run())
            };
        assert_eq!((disk(1.0).as_deref(), disk(0.4)), (Some("nvme1n1"), None));
    }
}
