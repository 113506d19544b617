//! Client drivers. Each driver has its own file and a row in [`DRIVERS`].

mod choose;
pub(crate) mod epoll;
pub(crate) mod null;
mod row;
mod setup;
mod shard;
pub(crate) mod sim;
mod uring;

use run::{Io, LoadPart};

pub(crate) use self::choose::choose;
pub use self::row::DriverSpec;
pub(crate) use self::setup::Setup;
pub(crate) use self::shard::{Never, Shard};
use crate::LoadError;

/// Builds the table [`DRIVERS`], and maps each row to its driver. The driver is chosen once per generator thread,
/// before the loop.
macro_rules! drivers {
    (by_shards: $($module:ident),+; by_themselves: $($other:ident),+ $(,)?) => {
        /// All drivers with which the generator sends requests. `auto` tries the drivers that it may choose, in the
        /// order of the table.
        pub const DRIVERS: &[DriverSpec] = &[$($module::SPEC,)+ $($other::SPEC),+];

        /// Runs one shard (generator thread) with the driver of a row, and returns the shard's result.
        pub(crate) fn run(row: &DriverSpec, shard: Shard<'_>) -> Result<LoadPart, LoadError> {
            $(if row.io == $module::SPEC.io {
                return $module::run(shard);
            })+
            Err(LoadError::NoShards(row.name))
        }
    };
}

drivers! {
    by_shards: uring, epoll, null;
    by_themselves: sim
}

/// Returns the row of the driver that a load plan requests, or `None` for `auto`.
pub fn asked(io: Io) -> Option<&'static DriverSpec> {
    DRIVERS.iter().find(|row| row.io == io)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_what_plans_say_and_every_plan_has_one() {
        for row in DRIVERS {
            assert_eq!(serde_json::to_value(row.io).unwrap(), row.name);
            assert_eq!(asked(row.io).unwrap().name, row.name);
        }
        let refused = serde_json::from_str::<Io>("\"none\"").unwrap_err().to_string();
        let names: Vec<&str> = refused.split('`').skip(3).step_by(2).collect();
        let known = |name: &&str| DRIVERS.iter().any(|row| row.name == *name);
        assert_eq!(names.iter().filter(|name| !known(name)).collect::<Vec<_>>(), [&"auto"], "{refused}");
        assert_eq!(names.len(), DRIVERS.len() + 1);
    }
}
