//! `work_us`: processor time added to each request. Counted on the thread's own processor clock, so time in which the
//! thread was not running does not count.

use std::sync::Arc;

use super::Delay;
use crate::{Options, ServeError};

pub(super) fn delay(options: &Options<'_>, _threads: u32) -> Result<Option<Delay>, ServeError> {
    let Some(us) = options.positive("work_us")? else { return Ok(None) };
    let work_ns = (us * 1e3) as u64;
    Ok(Some(Arc::new(move || {
        let until = sys::clock::thread_cpu_ns() + work_ns;
        while sys::clock::thread_cpu_ns() < until {
            std::hint::spin_loop();
        }
    })))
}
