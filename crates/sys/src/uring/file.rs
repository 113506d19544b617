//! The file that an io_uring operation uses.

/// The file that an io_uring operation uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// An index in the table of registered files.
    Fixed(u32),
    /// A file descriptor of the process, which is not in the ring's table.
    Fd(std::os::fd::RawFd),
}

/// Builds an operation for a registered file or for a descriptor. The io_uring crate has one type for registered files
/// and another type for descriptors.
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
