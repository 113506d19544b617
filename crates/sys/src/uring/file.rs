//! Which file an operation works on.

/// Which file an operation works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// A place in the table of registered files.
    Fixed(u32),
    /// A plain descriptor.
    Fd(std::os::fd::RawFd),
}

/// Builds an entry for either kind of file: io_uring's crate has one type for each.
macro_rules! on_file {
    ($file:expr, |$f:ident| $build:expr) => {
        match $file {
            File::Fixed(at) => {
                let $f = ::io_uring::types::Fixed(at);
                $build
            }
            File::Fd(fd) => {
                let $f = ::io_uring::types::Fd(fd);
                $build
            }
        }
    };
}
