//! Tests that measure, but leave the CPUs mostly idle: their servers sleep, or a quota, a slow link or a rate limits
//! the load. These tests run beside each other, so a result may not depend on a little CPU time that other tests use.
//! Further tests that leave the CPUs mostly idle are in modules `light` of the files whose helpers they use.

mod hosts_by_hand;
mod hosts_levers;
mod records;
mod slow_accept;
mod slowed_media;
mod small_buffers;
