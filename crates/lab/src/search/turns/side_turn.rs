//! A turn of one server while the other server waits, or a turn of both servers at the same time.

use crate::LabError;
use crate::search::Conductor;

/// Runs a function for one server while the other server waits. Returns the seconds that the function took.
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

/// Runs a function for both servers at the same time, each in its own thread. Returns the seconds that the longer of
/// the two calls took. The returned seconds do not count as time of a search.
pub(super) fn at_once(
    sides: &mut [&mut dyn Conductor; 2],
    act: impl Fn(&mut dyn Conductor) -> Result<(), LabError> + Sync,
) -> Result<f64, LabError> {
    let before_s = sides.each_ref().map(|side| side.elapsed_s());
    let [old, new] = sides;
    let fail = |why: String| LabError::set_up("loading both servers at once", why);
    let acted = std::thread::scope(|scope| {
        let other = std::thread::Builder::new().spawn_scoped(scope, || act(&mut **new));
        let other = other.map_err(|e| fail(format!("no thread could be started: {e}")))?;
        let first = act(&mut **old);
        first.and(other.join().unwrap_or_else(|_| Err(fail("the thread of the new server broke off".into()))))
    });
    acted?;
    let took_s: [f64; 2] = std::array::from_fn(|at| sides[at].elapsed_s() - before_s[at]);
    let longest_s = took_s[0].max(took_s[1]);
    for (side, took_s) in sides.iter_mut().zip(took_s) {
        side.wait(longest_s - took_s);
        side.leave_out(took_s);
    }
    Ok(longest_s)
}
