//! Chooses the driver for a load plan. A note says if this host refuses a preferred driver. Another note says if
//! two-process S-Clients cannot use the requested driver.

use run::{Intensity, LoadPlan};
use sys::Errno;

use super::{DRIVERS, DriverSpec, asked};
use crate::{LoadError, share};

/// Returns the row of the driver to use, and adds notes about the choice.
pub(crate) fn choose(plan: &LoadPlan, notes: &mut Vec<String>) -> Result<&'static DriverSpec, LoadError> {
    match asked(plan.io) {
        Some(row) if share::two_process(plan) && !row.plain_descriptors => {
            let other = automatic(plan, notes)?;
            notes.push(format!(
                "two-process S-Clients pass plain descriptors, which the {} driver does; it is used",
                other.name
            ));
            Ok(other)
        }
        Some(row) => (row.usable)().map_or_else(|errno| Err(unusable(row, errno)), |()| Ok(row)),
        None => automatic(plan, notes),
    }
}

/// Returns the row of the first suitable driver that works on this host.
fn automatic(plan: &LoadPlan, notes: &mut Vec<String>) -> Result<&'static DriverSpec, LoadError> {
    let reconnects = matches!(plan.intensity, Intensity::SClients { .. });
    let over_udp = proto::spec(&plan.protocol).datagrams;
    let is_suitable =
        |row: &&DriverSpec| row.auto && (row.plain_descriptors || !reconnects) && (row.joins_datagrams || !over_udp);
    let mut refused = None;
    for row in DRIVERS.iter().filter(is_suitable) {
        let Err(errno) = (row.usable)() else {
            let told = |(other, errno)| instead(other, errno, row);
            notes.extend(refused.map(told));
            return Ok(row);
        };
        refused = Some((row, errno));
    }
    Err(refused.map_or(LoadError::NoShards("auto"), |(row, errno)| unusable(row, errno)))
}

fn instead(refused: &DriverSpec, errno: Errno, used: &DriverSpec) -> String {
    format!("{} cannot be used here ({errno}); {} is used instead", refused.system, used.system)
}

fn unusable(row: &DriverSpec, errno: Errno) -> LoadError {
    LoadError::Unusable { system: row.system, name: row.name, errno }
}

#[cfg(test)]
mod tests {
    use run::{Io, ThinkTime};

    use super::*;

    fn chosen(io: Io, two_process: bool) -> (&'static str, Vec<String>) {
        let (descriptors, connect_timeout_ms, think) = (4, 500.0, ThinkTime::default());
        let intensity = Intensity::SClients { descriptors, connect_timeout_ms, think, pace: None };
        let mut notes = Vec::new();
        let row = choose(&LoadPlan { io, two_process, intensity, ..LoadPlan::default() }, &mut notes).unwrap();
        (row.name, notes)
    }

    #[test]
    fn s_clients_get_plain_descriptors_and_are_told_where_they_asked_for_others() {
        assert_eq!(chosen(Io::Auto, false), ("epoll", vec![]));
        assert_eq!(chosen(Io::Auto, true), ("epoll", vec![]));
        let (name, notes) = chosen(Io::Uring, true);
        assert!(name == "epoll" && notes.len() == 1 && notes[0].contains("the epoll driver"), "{notes:?}");
    }

    #[test]
    fn over_udp_auto_takes_a_driver_that_joins_datagrams() {
        let protocol = run::Protocol::Http3(run::HttpPlan::default());
        let of = |io| choose(&LoadPlan { io, protocol: protocol.clone(), ..LoadPlan::default() }, &mut Vec::new());
        assert_eq!(of(Io::Auto).unwrap().name, "epoll");
        assert!(of(Io::Uring).is_ok_and(|row| row.name == "uring") || (asked(Io::Uring).unwrap().usable)().is_err());
    }

    #[test]
    fn auto_takes_the_first_that_can_be_used_and_names_the_one_that_cannot() {
        let mut notes = Vec::new();
        let name = choose(&LoadPlan::default(), &mut notes).unwrap().name;
        let uring = (asked(Io::Uring).unwrap().usable)();
        assert_eq!((name == "uring", notes.is_empty()), (uring.is_ok(), uring.is_ok()), "{name} {notes:?}");
        assert!(["uring", "epoll"].contains(&name) && notes.iter().all(|n| n.starts_with("io_uring cannot be used")));
    }
}
