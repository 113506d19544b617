//! Tests that measure, but leave the CPUs idle: their servers sleep, or a quota, a slow link or a rate limits the load.
//! One of these tests runs per CPU, so a result may not depend on the fifth of a CPU that another test uses. Further
//! tests that leave the CPUs idle are in modules `idle` of the files whose helpers they use.

mod hosts_by_hand;
mod hosts_levers;
mod slow_accept;
mod slowed_media;
