//! Flags whose values are rows of the load generator's tables: `--io` (`DRIVERS`) and `--arrival` (`ARRIVALS`).

use load::arrivals::{self, ARRIVALS, ArrivalSpec, Parameter, Unit};
use load::drivers::DRIVERS;
use run::{Arrival, Io};

use super::units;

/// Parses the value of `--io`: `auto`, or the name of a row of `DRIVERS`.
pub(super) fn io(text: &str) -> Result<Io, String> {
    let row = DRIVERS.iter().find(|row| row.name == text);
    let found = row.map(|row| row.io).or_else(|| (text == "auto").then_some(Io::Auto));
    found.ok_or_else(|| format!("known are auto, {}", listed(DRIVERS.iter().map(|row| row.name.into()))))
}

/// Returns the help text of `--io`, which lists its values.
pub(super) fn io_help() -> String {
    let names = |auto| listed(DRIVERS.iter().filter(|row| row.auto == auto).map(|row| row.name.into()));
    format!("Client driver: auto, {} ({} need no network)", names(true), names(false))
}

/// Returns the help text for the default of `--io`: `auto`, the system interfaces from which `auto` chooses, and the
/// reason for the choice.
pub(super) fn io_default() -> String {
    let systems = DRIVERS.iter().filter(|row| row.auto).map(|row| row.system);
    format!("auto: {}", systems.collect::<Vec<_>>().join(" where it is allowed (fewer system calls), else "))
}

/// Parses the value of `--arrival`, the arrival process of an open loop. The value is the name of a row of `ARRIVALS`,
/// then a colon and parameters, separated by commas. A missing parameter gets its default value.
pub(crate) fn arrival(text: &str) -> Result<Arrival, String> {
    let (name, given) = text.split_once(':').unwrap_or((text, ""));
    let given: Vec<&str> = given.split(',').filter(|_| !given.is_empty()).collect();
    let found = ARRIVALS.iter().find(|row| row.name == name && given.len() <= row.parameters.len());
    let row = found.ok_or_else(possible)?;
    let value = |(i, parameter): (usize, &Parameter)| match given.get(i) {
        Some(text) if !text.is_empty() => number(parameter, text),
        _ => number(parameter, parameter.default),
    };
    let values = row.parameters.iter().enumerate().map(value).collect::<Result<Vec<_>, _>>()?;
    let arrival = arrivals::plan(name, &values).ok_or_else(possible)?;
    arrivals::check(&arrival).map_err(|e| e.to_string())?;
    Ok(arrival)
}

/// Returns the help text of `--arrival`, which lists its values.
pub(crate) fn arrival_help() -> String {
    format!("How an open loop's requests arrive: {}", listed(ARRIVALS.iter().map(written)))
}

/// Returns the default of `--arrival` for the help.
pub(super) fn arrival_default() -> String {
    arrivals::spec(&Arrival::default()).0.name.into()
}

fn number(parameter: &Parameter, text: &str) -> Result<f64, String> {
    match parameter.unit {
        Unit::Number => text.parse().map_err(|_| format!("{text:?} is not a number; it is the {}", parameter.help)),
        Unit::Share => units::share(text),
        Unit::Time => units::seconds(text),
    }
}

fn possible() -> String {
    let explained = |row: &ArrivalSpec| match row.parameters {
        [] => row.name.to_string(),
        all => format!("{} ({})", written(row), all.iter().map(|p| p.help).collect::<Vec<_>>().join(", ")),
    };
    format!("known are {}", listed(ARRIVALS.iter().map(explained)))
}

/// Formats a row of `ARRIVALS` as a user writes it on the command line, with the defaults of its parameters.
fn written(row: &ArrivalSpec) -> String {
    let values: Vec<&str> = row.parameters.iter().map(|p| p.default).collect();
    if values.is_empty() { row.name.into() } else { format!("{}:{}", row.name, values.join(",")) }
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_selected_by_name() {
        for row in DRIVERS {
            assert_eq!(io(row.name), Ok(row.io));
        }
        assert!(io("auto") == Ok(Io::Auto) && io("kqueue").unwrap_err().contains("auto, uring, epoll"));
        for row in ARRIVALS {
            let named = arrival(row.name).unwrap();
            assert_eq!((arrivals::spec(&named).0.name, Ok(&named)), (row.name, arrival(&written(row)).as_ref()));
        }
    }

    #[test]
    fn parameters_have_units_and_missing_ones_have_defaults() {
        let bursty = |peak, share, period_s| Ok(Arrival::Bursty { peak, share, period_s });
        assert_eq!(arrival("bursty:3,10%,500ms"), bursty(3.0, 0.1, 0.5));
        assert_eq!(arrival("bursty:3,,2s"), bursty(3.0, 0.05, 2.0));
        assert_eq!(arrival("self-similar:0.7"), Ok(Arrival::SelfSimilar { hurst: 0.7 }));
    }

    #[test]
    fn an_unknown_arrival_process_is_refused_with_the_known_ones() {
        for (text, says) in [
            ("uniform", "bursty:6,5%,100s"),
            ("poisson:1", "Hurst parameter"),
            ("bursty:6,5%,100s,1", "known are constant"),
            ("bursty:x", "peak rate over mean rate"),
            ("bursty:6,5%,100", "no unit"),
            ("bursty:nan", "1 or more"),
            ("self-similar:1.5", "hurst is 1.5"),
        ] {
            let refused = arrival(text).unwrap_err();
            assert!(refused.contains(says), "{text}: {refused}");
        }
    }
}
