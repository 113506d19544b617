//! Maximum lengths of the lists in a profile of waiting threads.

/// Maximum number of rows in each list of a profile: groups, futexes, titles and peers. In each list, the sampler keeps
/// the largest rows.
pub const MAX_WAIT_ROWS: usize = 64;

/// Maximum number of threads, and maximum number of functions, in the lists of a lock's holders. A conclusion needs
/// only the largest row; the further rows show by how much the largest row exceeds the others.
pub const MAX_HOLDER_ROWS: usize = 4;
