//! Tests that measure, but whose checks hold if a few other tests of this module run at the same time. One of these
//! tests runs per two CPUs. Further such tests are in modules `light` of the files whose helpers they use.

mod records;
mod small_buffers;
