//! Counts half-open TCP connections (IPv4) in the network namespace of a process. Source: proc_pid_net(5).

use crate::text::{hex, lines, words};

/// Number of the state TCP_SYN_RECV in /proc/net/tcp (linux/net/tcp_states.h).
const SYN_RECV: u64 = 3;

/// Counts the IPv4 connections on all ports that wait for the final acknowledgement of their handshake.
pub fn half_open(pid: u32) -> usize {
    counted(&std::fs::read(format!("/proc/{pid}/net/tcp")).unwrap_or_default())
}

fn counted(table: &[u8]) -> usize {
    lines(table).filter(|line| words(line).nth(3).and_then(hex) == Some(SYN_RECV)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 100 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 101 1 0 20 4 30 10 -1
   4: 0100007F:1F90 0100007F:C003 03 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20 4 30 10 -1
   5: 0100007F:1F90 odd
";

    #[test]
    fn only_half_open_sockets_are_counted() {
        assert_eq!(counted(TABLE), 1);
    }
}
