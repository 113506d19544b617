//! Runs whose bottleneck is known.
