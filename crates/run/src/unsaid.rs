//! What a run leaves out since it says nothing: for serde's `skip_serializing_if`.

/// Nothing was counted.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
pub(crate) fn is_no_count(n: &u64) -> bool {
    *n == 0
}

/// Nothing is asked for.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
pub(crate) fn is_zero(n: &f64) -> bool {
    *n == 0.0
}
