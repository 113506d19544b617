//! Conversion of the kernel's units to the units of the counter table.

use sys::param;

/// Converts clock ticks to microseconds.
pub(crate) fn ticks_us(ticks: u64) -> f64 {
    ticks as f64 * (1e6 / param::clock_ticks_per_second() as f64)
}

/// Converts `kB` of procfs (1024 bytes) to bytes.
pub(crate) fn kib_bytes(kib: f64) -> f64 {
    kib * 1024.0
}

/// Converts sectors of block devices to bytes. A sector has 512 bytes for every device.
pub(crate) fn sector_bytes(sectors: f64) -> f64 {
    sectors * 512.0
}

/// Converts nanoseconds to microseconds.
pub(crate) fn ns_us(ns: f64) -> f64 {
    ns / 1e3
}

/// Returns the size of a page in bytes.
pub(crate) fn page_bytes() -> f64 {
    param::page_bytes() as f64
}
