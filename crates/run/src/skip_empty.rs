//! Conditions on which `run.json` omits a field, for serde's `skip_serializing_if`.

/// Returns true if a count is zero.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
pub(crate) fn is_no_count(n: &u64) -> bool {
    *n == 0
}

/// Returns true if a number is zero.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
pub(crate) fn is_zero(n: &f64) -> bool {
    *n == 0.0
}

/// Returns true if a flag is false.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}
