use super::*;

#[test]
fn long_times_have_minutes_or_hours() {
    let times = [0.25, 12.0, 599.0, 600.0, 3599.0, 5400.0, 43_214.0, 259_200.0];
    let words = ["0.25 s", "12 s", "599 s", "10 min", "60 min", "1.5 h", "12 h", "72 h"];
    assert_eq!(times.map(span), words);
    assert_eq!(quantity(43_200.0, Unit::Seconds), "12 h");
    assert_eq!(quantity(0.25, Unit::Seconds), "250 ms");
    assert_eq!(quantity(7.2e9, Unit::Micros), "7,200 s");
}

#[test]
fn three_significant_digits() {
    let cases = [
        (0.0, "0"),
        (1.0, "1"),
        (20.0, "20"),
        (1.5, "1.5"),
        (0.012345, "0.0123"),
        (999.7, "1,000"),
        (48_312.0, "48,300"),
        (1_234_567.0, "1.23M"),
        (-42.42, "−42.4"),
        (1e-7, "1.00e-7"),
        (f64::NAN, "n/a"),
        (f64::INFINITY, "∞"),
    ];
    for (value, text) in cases {
        assert_eq!(number(value), text, "{value}");
    }
}

#[test]
fn units_choose_the_step_that_reads_best() {
    assert_eq!(quantity(999.7, Unit::Micros), "1 ms");
    assert_eq!(quantity(0.25, Unit::Micros), "250 ns");
    assert_eq!(quantity(12_345_678.0, Unit::Micros), "12.3 s");
    assert_eq!(quantity(999_960.0, Unit::BytesPerSecond), "1 MB/s");
    assert_eq!(quantity(0.971, Unit::Share), "97.1 %");
    assert_eq!(quantity(2_065.0, Unit::PerSecond), "2,070/s");
    assert_eq!(quantity(3.0, FigureUnit::PerRequest), "3 per request");
    assert_eq!(quantity(3.0, crate::Unit::Pages), "3 pages");
    assert_eq!(quantity(f64::NAN, Unit::Bytes), "n/a");
}

#[test]
fn counts_keep_every_digit() {
    assert_eq!(count(1_234_567), "1,234,567");
    assert_eq!(count(12), "12");
}

#[test]
fn the_ends_of_a_narrow_interval_differ() {
    assert_eq!(interval(4412.0, 4887.0, Unit::PerSecond), "4,410/s to 4,890/s");
    assert_eq!(interval(19.98, 20.02, Unit::Micros), "19.98 µs to 20.02 µs");
    assert_eq!(interval(48_301.0, 48_349.0, Unit::PerSecond), "48,300/s to 48,350/s");
    assert_eq!(interval(1_234_567.0, 1_234_667.0, Unit::PerSecond), "1.2346 M/s to 1.2347 M/s");
    assert_eq!(interval(20.0, 20.0, Unit::Micros), "20 µs to 20 µs");
    assert_eq!(interval(f64::NAN, f64::NAN, Unit::Micros), "n/a to n/a");
}
