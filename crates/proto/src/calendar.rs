//! Dates of the Gregorian calendar.

/// Returns the number of days from 1970-01-01 to a date, negative before 1970 (H. Hinnant, *chrono-Compatible Low-Level
/// Date Algorithms*, `days_from_civil`).
pub(crate) const fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}
