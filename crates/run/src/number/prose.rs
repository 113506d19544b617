//! Formatting of numbers in sentences. Whole numbers are written in full, and other numbers with at least three
//! significant digits.

use super::{HALVES_UP, separated};

/// Formats a number with separated thousands: a whole number in full, another number with three significant digits, but
/// never without its whole part. Examples: `0.0123`, `4.56`, `78.9`, `12,345`.
pub fn figure(x: f64) -> String {
    if !x.is_finite() {
        return "unknown".into();
    }
    // Whole numbers, such as counts, are written without decimals.
    if x.fract() == 0.0 && x.abs() < 1e15 {
        return thousands(&format!("{x:.0}"));
    }
    let magnitude = x.abs().log10().floor() as i32;
    let decimals = (2 - magnitude).clamp(0, 9) as usize;
    let text = format!("{:.decimals$}", x * HALVES_UP);
    if decimals == 0 { thousands(&text) } else { text }
}

/// Formats a share in percent: `0.123` is `12.3 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", figure(share * 100.0))
}

/// Formats a change in words: `grew by 3 %`, `fell by 3 %`.
pub fn grew(share: f64) -> String {
    match share {
        s if s.abs() < 5e-4 => "stayed the same".into(),
        s if s < 0.0 => format!("fell by {}", percent(-s)),
        s => format!("grew by {}", percent(s)),
    }
}

/// Formats a duration, given in microseconds, in microseconds, milliseconds or seconds.
pub fn duration(us: f64) -> String {
    match us.abs() {
        t if t >= 1e6 => format!("{} s", figure(us / 1e6)),
        t if t >= 1e3 => format!("{} ms", figure(us / 1e3)),
        _ => format!("{} µs", figure(us)),
    }
}

/// Formats a count with its noun in the singular or plural: `1 client`, `1,389 clients`, `2 processes`.
pub fn counted(n: f64, noun: &str) -> String {
    let ending = match n == 1.0 {
        true => "",
        false if noun.ends_with('s') => "es",
        false => "s",
    };
    format!("{} {noun}{ending}", figure(n))
}

/// Formats a number of CPUs: `1 CPU`, `2 CPUs`.
pub fn cpus(n: f64) -> String {
    counted(n, "CPU")
}

/// Formats a request rate.
pub fn rate(per_s: f64) -> String {
    format!("{}/s", figure(per_s))
}

/// Formats a request rate as a whole number. A rate below 10/s is written with three significant digits, so a small
/// rate is never shown as 0.
pub fn whole_rate(per_s: f64) -> String {
    if per_s.abs() < 10.0 { rate(per_s) } else { format!("{per_s:.0}/s") }
}

fn thousands(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |d| ("-", d));
    format!("{sign}{}", separated(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit_that_fits() {
        assert_eq!(figure(12_345.6), "12,346");
        assert_eq!(figure(-0.012_34), "-0.0123");
        assert_eq!(figure(4.5), "4.50");
        assert_eq!(
            (figure(31.25), super::super::significant(31.25)),
            ("31.3".into(), "31.3".into()),
            "halves round up"
        );
        assert_eq!((figure(4.0), figure(0.0), figure(-12_000.0)), ("4".into(), "0".into(), "-12,000".into()));
        assert_eq!(figure(f64::NAN), "unknown");
        assert_eq!(duration(39_900.0), "39.9 ms");
        assert_eq!((grew(0.02), grew(-0.02)), ("grew by 2 %".into(), "fell by 2 %".into()));
        assert_eq!((grew(0.0), grew(-1e-9)), ("stayed the same".into(), "stayed the same".into()));
        assert_eq!(percent(0.987), "98.7 %");
        assert_eq!(
            (whole_rate(0.033), whole_rate(2.0), whole_rate(1234.5)),
            ("0.0330/s".into(), "2/s".into(), "1234/s".into())
        );
        assert_eq!((counted(1.0, "client"), counted(1389.0, "client")), ("1 client".into(), "1,389 clients".into()));
        assert_eq!((counted(1.0, "process"), counted(2.0, "process")), ("1 process".into(), "2 processes".into()));
        assert_eq!(rate(1_234_567.0), "1,234,567/s");
    }
}
