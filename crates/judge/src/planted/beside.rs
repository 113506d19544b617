//! Runs with two planted causes: the server reaches both limits at the same load.
//!
//! Each cause also has a run with this cause only ("own run"), which has its own capacity. Counters of device use count
//! CPU time, disk time, or bytes on a link. At the capacity of the combined run, each counter of device use has the
//! value that it has at the capacity of the cause's own run. All other counters, such as counts per request, follow the
//! rate, the clients or the response time of the combined run.

use super::planted_run::{PlantedRun, Point, Row, Value};

/// Number of clients with which the combined run reaches its capacity. The number is above 32, because some causes show
/// their signs only with 32 clients or more.
const KNEE_CLIENTS: f64 = 64.0;
/// Minimum response time of one client in a combined run, microseconds. With a shorter response time, 64 clients would
/// need more than the four CPUs of the run.
const LEAST_R1_US: f64 = 10_000.0;
/// Capacity of a run whose rate grows up to the last step, requests per second. This capacity is so high that no rate
/// of the run reaches it.
const GROWS: f64 = 1e9;

/// Counters of device use, in addition to all cumulative counters in microseconds.
const DEVICE_USE: &[&str] = &["medium.bytes", "cgroup.cpu_periods", "cgroup.cpu_throttled_periods"];
/// Counters for which a smaller value is a stronger sign of a cause.
const LOW_IS_STRONG: &[&str] = &["cpu.idle"];

impl PlantedRun {
    /// Combines the causes of two made-up runs in one run.
    pub(crate) fn beside(self, other: Self) -> Self {
        let grows = self.x_max >= GROWS && other.x_max >= GROWS;
        let r1_us = self.r1_us.max(other.r1_us).max(LEAST_R1_US);
        let capacity = if grows { GROWS } else { KNEE_CLIENTS * 1e6 / r1_us };
        let mut both = Self::new(r1_us, capacity);
        if grows {
            both = both.rates(&[]);
        }
        let mut planted: Vec<Row> = Vec::new();
        for cause in [self, other] {
            let own_capacity = cause.x_max;
            for row in cause.rows.into_iter().filter(|row| row.planted).map(|row| at_own_capacity(row, own_capacity)) {
                plant(&mut planted, row);
            }
            both.changes.extend(cause.changes);
        }
        let replaced = |row: &Row| planted.iter().any(|new| same_counter(new, row));
        both.rows.retain(|row| !replaced(row));
        both.rows.extend(planted);
        both
    }
}

fn same_counter(a: &Row, b: &Row) -> bool {
    (a.who, a.id, &a.instance) == (b.who, b.id, &b.instance)
}

/// Adds a counter to the list of a run's counters. If both causes set the counter, uses the value that is the stronger
/// sign at each operating point.
fn plant(rows: &mut Vec<Row>, row: Row) {
    let Some(at) = rows.iter().position(|one| same_counter(one, &row)) else { return rows.push(row) };
    let first = rows.swap_remove(at);
    let low = LOW_IS_STRONG.contains(&row.id);
    let (a, b) = (first.value, row.value);
    let stronger = move |p: &Point| if low { a(p).min(b(p)) } else { a(p).max(b(p)) };
    rows.push(Row { value: Box::new(stronger), ..row });
}

/// Rescales a counter of device use. At the combined run's capacity, the counter gets the value that it has at
/// `own_capacity` in the run with one cause. At half of the combined run's capacity, the counter gets its value at half
/// of `own_capacity`. Returns all other counters unchanged.
fn at_own_capacity(row: Row, own_capacity: f64) -> Row {
    let timed = run::counter(row.id)
        .is_some_and(|spec| spec.unit == run::Unit::Microseconds && spec.kind == run::Kind::Cumulative);
    if !timed && !DEVICE_USE.contains(&row.id) {
        return row;
    }
    let value: Value = row.value;
    let scaled = move |p: &Point| {
        let scale = own_capacity / p.capacity;
        value(&Point { x: p.x * scale, offered: p.offered * scale, capacity: own_capacity, ..*p })
    };
    Row { value: Box::new(scaled), ..row }
}
