//! Turn of one side while the other waits.

use crate::LabError;
use crate::search::Conductor;

/// Lets one side act while the other one waits. Returns the seconds that this took.
pub(super) fn turn(
    sides: &mut [&mut dyn Conductor; 2],
    at: usize,
    act: impl FnOnce(&mut dyn Conductor) -> Result<(), LabError>,
) -> Result<f64, LabError> {
    let before_s = sides[at].elapsed_s();
    act(&mut *sides[at])?;
    let took_s = sides[at].elapsed_s() - before_s;
    sides[1 - at].wait(took_s);
    Ok(took_s)
}
