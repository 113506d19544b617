//! Counters of the network stack, from /proc/net/snmp and netstat (a line of names, then a line of values) and snmp6
//! (one counter per line). Source: RFC 4293 and RFC 4022 for the names in snmp, and net/ipv4/proc.c for the other
//! names.

use crate::Scope;
use crate::column_writer::{ColumnWriter, Slots};
use crate::reread_file::RereadFile;
use crate::source::{Round, Source};
use crate::text::{lines, value, words};
use crate::tree::Tree;

/// First word of a field's line, name of the field, and ID of the counter that it fills.
type Field = (&'static str, &'static str, &'static str);

#[rustfmt::skip]
const SNMP: &[Field] = &[
    ("Ip:", "InReceives", "ip.in_receives"), ("Ip:", "InDiscards", "ip.in_discards"),
    ("Ip:", "OutRequests", "ip.out_requests"), ("Ip:", "OutDiscards", "ip.out_discards"),
    ("Tcp:", "ActiveOpens", "tcp.active_opens"), ("Tcp:", "PassiveOpens", "tcp.passive_opens"),
    ("Tcp:", "AttemptFails", "tcp.attempt_fails"), ("Tcp:", "EstabResets", "tcp.estab_resets"),
    ("Tcp:", "CurrEstab", "tcp.established"), ("Tcp:", "InSegs", "tcp.in_segs"),
    ("Tcp:", "OutSegs", "tcp.out_segs"), ("Tcp:", "RetransSegs", "tcp.retrans_segs"),
    ("Tcp:", "InErrs", "tcp.in_errs"), ("Tcp:", "OutRsts", "tcp.out_rsts"),
    ("Udp:", "InDatagrams", "udp.in_datagrams"), ("Udp:", "NoPorts", "udp.no_ports"),
    ("Udp:", "InErrors", "udp.in_errors"), ("Udp:", "OutDatagrams", "udp.out_datagrams"),
    ("Udp:", "RcvbufErrors", "udp.rcvbuf_errors"), ("Udp:", "SndbufErrors", "udp.sndbuf_errors"),
];

#[rustfmt::skip]
const NETSTAT: &[Field] = &[
    ("TcpExt:", "SyncookiesSent", "tcp.syncookies_sent"), ("TcpExt:", "SyncookiesRecv", "tcp.syncookies_received"),
    ("TcpExt:", "SyncookiesFailed", "tcp.syncookies_failed"), ("TcpExt:", "TW", "tcp.time_waited"),
    ("TcpExt:", "DelayedACKs", "tcp.delayed_acks"), ("TcpExt:", "DelayedACKLost", "tcp.delayed_ack_lost"),
    ("TcpExt:", "ListenOverflows", "tcp.listen_overflows"), ("TcpExt:", "ListenDrops", "tcp.listen_drops"),
    ("TcpExt:", "TCPPureAcks", "tcp.pure_acks"), ("TcpExt:", "TCPLostRetransmit", "tcp.lost_retransmits"),
    ("TcpExt:", "TCPFastRetrans", "tcp.fast_retrans"), ("TcpExt:", "TCPTimeouts", "tcp.timeouts"),
    ("TcpExt:", "TCPAbortOnData", "tcp.abort_on_data"), ("TcpExt:", "TCPAbortOnClose", "tcp.abort_on_close"),
    ("TcpExt:", "TCPAbortOnMemory", "tcp.abort_on_memory"), ("TcpExt:", "TCPMemoryPressures", "tcp.memory_pressures"),
    ("TcpExt:", "TCPSpuriousRTOs", "tcp.spurious_rtos"), ("TcpExt:", "TCPBacklogDrop", "tcp.backlog_drops"),
    ("TcpExt:", "TCPTimeWaitOverflow", "tcp.time_wait_overflows"),
    ("TcpExt:", "TCPReqQFullDoCookies", "tcp.req_queue_full_cookies"),
    ("TcpExt:", "TCPReqQFullDrop", "tcp.req_queue_full_drops"), ("TcpExt:", "TCPAutoCorking", "tcp.auto_corking"),
    ("TcpExt:", "TCPToZeroWindowAdv", "tcp.to_zero_window"), ("TcpExt:", "TCPSynRetrans", "tcp.syn_retrans"),
    ("TcpExt:", "TCPOrigDataSent", "tcp.orig_data_sent"), ("TcpExt:", "TCPZeroWindowDrop", "tcp.zero_window_drops"),
    ("TcpExt:", "TCPRcvQDrop", "tcp.rcvq_drops"), ("IpExt:", "InOctets", "ip.in_octets"),
    ("IpExt:", "OutOctets", "ip.out_octets"),
];

#[rustfmt::skip]
const SNMP6: &[Field] = &[
    ("", "Ip6InReceives", "ip6.in_receives"), ("", "Ip6InDiscards", "ip6.in_discards"),
    ("", "Ip6OutRequests", "ip6.out_requests"), ("", "Ip6OutDiscards", "ip6.out_discards"),
    ("", "Ip6InOctets", "ip6.in_octets"), ("", "Ip6OutOctets", "ip6.out_octets"),
    ("", "Udp6InDatagrams", "udp6.in_datagrams"), ("", "Udp6OutDatagrams", "udp6.out_datagrams"),
    ("", "Udp6NoPorts", "udp6.no_ports"), ("", "Udp6InErrors", "udp6.in_errors"),
    ("", "Udp6RcvbufErrors", "udp6.rcvbuf_errors"), ("", "Udp6SndbufErrors", "udp6.sndbuf_errors"),
];

struct Netstat {
    files: [Paired; 2],
    /// The file snmp6, and the columns of the counters in [`SNMP6`].
    six: (RereadFile, Vec<Slots>),
}

pub(super) fn open(_: &Scope, tree: &Tree) -> Box<dyn Source> {
    let paired = |file, fields| Paired { file: tree.keep_net(file), fields, slots: Vec::new(), pairs: Vec::new() };
    Box::new(Netstat {
        files: [paired("snmp", SNMP), paired("netstat", NETSTAT)],
        six: (tree.keep_net("snmp6"), Vec::new()),
    })
}

impl Source for Netstat {
    fn sample(&mut self, round: &mut Round<'_>) {
        for file in &mut self.files {
            file.sample(round.writer);
        }
        let (file, slots) = &mut self.six;
        open_fields(round.writer, SNMP6, slots);
        let text = match file.read() {
            Ok(text) => text,
            Err(reason) => return absent(round.writer, SNMP6, &reason),
        };
        for line in lines(text) {
            let mut fields = words(line);
            let at = fields.next().and_then(|name| SNMP6.iter().position(|field| field.1.as_bytes() == name));
            if let Some(slot) = at.and_then(|at| slots.get(at)) {
                round.writer.put_some(*slot, 0, fields.next().and_then(value));
            }
        }
    }
}

/// A file of pairs of lines: names, then values.
struct Paired {
    file: RereadFile,
    fields: &'static [Field],
    slots: Vec<Slots>,
    /// For each pair of lines in the file (names, then values): the line of names, and the columns of the names. The
    /// columns are looked up again only if the line of names has changed.
    pairs: Vec<(Vec<u8>, Vec<Option<Slots>>)>,
}

impl Paired {
    fn sample(&mut self, writer: &mut ColumnWriter) {
        open_fields(writer, self.fields, &mut self.slots);
        let text = match self.file.read() {
            Ok(text) => text,
            Err(reason) => return absent(writer, self.fields, &reason),
        };
        let mut all = lines(text);
        let mut at = 0;
        while let (Some(names), Some(values)) = (all.next(), all.next()) {
            if self.pairs.get(at).is_none_or(|pair| pair.0 != names) {
                self.pairs.truncate(at);
                self.pairs.push((names.to_vec(), places(self.fields, &self.slots, names)));
                note_missing(writer, self.fields, names);
            }
            for (slot, word) in self.pairs[at].1.iter().zip(words(values)) {
                if let Some(slot) = slot {
                    writer.put_some(*slot, 0, value(word));
                }
            }
            at += 1;
        }
    }
}

fn open_fields(writer: &mut ColumnWriter, fields: &'static [Field], slots: &mut Vec<Slots>) {
    if slots.is_empty() {
        slots.extend(fields.iter().map(|field| writer.open(std::slice::from_ref(&field.2), "")));
    }
}

fn absent(writer: &mut ColumnWriter, fields: &'static [Field], reason: &str) {
    for (_, _, id) in fields {
        writer.absent(id, "", format_args!("{reason}"));
    }
}

/// Returns the column of each name in a line of names; `None` for a name without a counter.
fn places(fields: &'static [Field], slots: &[Slots], names: &[u8]) -> Vec<Option<Slots>> {
    let mut all = words(names).peekable();
    let prefix = all.peek().copied().unwrap_or_default();
    let place = |name: &[u8]| {
        let known = |f: &Field| f.0.as_bytes() == prefix && f.1.as_bytes() == name;
        fields.iter().position(known).and_then(|at| slots.get(at).copied())
    };
    all.map(place).collect()
}

fn note_missing(writer: &mut ColumnWriter, fields: &'static [Field], names: &[u8]) {
    let prefix = words(names).next().unwrap_or_default();
    for (_, name, id) in fields.iter().filter(|f| f.0.as_bytes() == prefix) {
        if !words(names).any(|word| word == name.as_bytes()) {
            writer.absent(id, "", format_args!("this kernel does not count {name}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Sampled, Tree};

    const SNMP_TEXT: &str = "Ip: Forwarding InReceives\nIp: 2 9167\nIcmpMsg: InType3\nIcmpMsg: 1\n\
        Tcp: MaxConn ActiveOpens RetransSegs\nTcp: -1 98 7\n";

    #[test]
    fn fields_are_found_by_name_and_follow_when_names_move() {
        let tree = Tree::new(&[
            ("proc/net/snmp", SNMP_TEXT),
            ("proc/net/netstat", "TcpExt: ListenOverflows TW\nTcpExt: 5 6\n"),
            ("proc/net/snmp6", "Ip6InReceives                   \t12\nIp6Odd -3\n"),
        ]);
        let mut probe = tree.probe("netstat");
        probe.sample(0.0);
        tree.write("proc/net/netstat", "TcpExt: TW New ListenOverflows\nTcpExt: 8 9 10\n");
        probe.sample(1.0);
        let r = Sampled(probe.take());
        assert_eq!(r.0.column("tcp.listen_overflows", "").unwrap().values, [Some(5.0), Some(10.0)]);
        assert_eq!((r.last("tcp.time_waited", ""), r.last("ip6.in_receives", "")), (Some(8.0), Some(12.0)));
        assert_eq!((r.last("tcp.active_opens", ""), r.last("tcp.retrans_segs", "")), (Some(98.0), Some(7.0)));
        assert_eq!(r.last("ip.in_receives", ""), Some(9167.0));
    }

    #[test]
    fn counters_that_the_kernel_lacks_are_absent_and_not_zero() {
        let r = Tree::new(&[("proc/net/snmp", SNMP_TEXT)]).sample("netstat");
        assert_eq!(r.reason("tcp.out_rsts"), "this kernel does not count OutRsts");
        assert!(r.reason("tcp.listen_overflows").contains("does not exist"));
        assert!(r.reason("ip6.in_octets").contains("does not exist"));
    }
    #[test]
    fn datagrams_of_ip_version_6_are_counted() {
        let tree = Tree::new(&[("proc/net/snmp6", "Udp6RcvbufErrors                \t197\n")]);
        assert_eq!(tree.sample("netstat").last("udp6.rcvbuf_errors", ""), Some(197.0));
    }
}
