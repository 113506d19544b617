//! Non-blocking descriptors. Source: fcntl(2), F_SETFL. The flag O_NONBLOCK belongs to the open file description. Each
//! end of a pipe has its own open file description, so the other end of the pipe stays blocking.

use std::os::fd::AsFd;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::Result;

/// Makes reads and writes that would block fail with [`crate::Errno::AGAIN`].
pub fn set(fd: impl AsFd) -> Result<()> {
    let flags = fcntl_getfl(&fd)?;
    fcntl_setfl(&fd, flags | OFlags::NONBLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Read};

    #[test]
    fn reading_an_empty_pipe_fails_at_once() {
        let (mut reader, _writer) = std::io::pipe().unwrap();
        set(&reader).unwrap();
        assert_eq!(reader.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}
