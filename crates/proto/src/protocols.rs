//! The table of protocols. An entry contains all facts about a protocol that the rest of the program needs.

use run::{Protocol, RequestSet, StreamPlan, TlsPlan};

use crate::row::{ProtocolSpec, Scheme};
use crate::{
    AnyClient, Client as _, ProtoError, discard, echo, grpc, http1, http2, http3, memcached, postgres, quic, raw,
    record, redis, source, tls, websocket,
};

/// Builds the table of protocols, and a function that prepares the client of any of these protocols.
macro_rules! protocols {
    ($($module:ident $(within $tls:ident)? $(takes $sets:ident)?),+ $(,)?) => {
        /// All protocols that the generator supports.
        pub const PROTOCOLS: &[ProtocolSpec] = &[$($module::SPEC),+];

        /// Prepares the client for the protocol of a load. Files are read only once, and errors in files or settings
        /// are reported before any load. If `tls` is given, the protocol is used over TLS. If `requests` is given, the
        /// client sends the requests of this set. If `stream` is given, answers are streams of events.
        pub fn stream_client(
            plan: &Protocol,
            requests: Option<&RequestSet>,
            tls: Option<&TlsPlan>,
            stream: Option<&StreamPlan>,
        ) -> Result<Box<dyn AnyClient>, ProtoError> {
            $(if plan.name() == $module::SPEC.name {
                let client = $module::client(plan $(, {
                    let _ = stringify!($sets);
                    requests
                })?)?;
                let takes_sets = false $(|| !stringify!($sets).is_empty())?;
                if requests.is_some() && !takes_sets {
                    return Err(ProtoError::NoSet(plan.name()));
                }
                let client = match stream {
                    Some(stream) => client.with_stream(stream)?,
                    None => client,
                };
                return match tls {
                    None if $module::SPEC.datagrams => Err(ProtoError::NeedsTls(plan.name())),
                    None => Ok(Box::new(client)),
                    $(Some(tls) => Ok(Box::new($tls::client(tls, $module::SPEC, client)?)),)?
                    #[allow(unreachable_patterns, reason = "of protocols that are spoken within TLS")]
                    Some(_) => Err(ProtoError::NoTls(plan.name())),
                };
            })+
            Err(ProtoError::Unknown(plan.name()))
        }
    };
}

protocols! {
    http1 within tls takes sets,
    http2 within tls takes sets,
    http3 within quic takes sets,
    grpc within tls,
    echo,
    raw,
    discard,
    source,
    record,
    redis within tls,
    memcached,
    postgres within tls takes sets,
    websocket within tls,
}

/// Prepares the client like [`stream_client`], for answers that are not streams.
pub fn client(
    plan: &Protocol,
    requests: Option<&RequestSet>,
    tls: Option<&TlsPlan>,
) -> Result<Box<dyn AnyClient>, ProtoError> {
    stream_client(plan, requests, tls, None)
}

/// Returns the table entry for the protocol of the settings `plan`.
pub fn spec(plan: &Protocol) -> &'static ProtocolSpec {
    PROTOCOLS.iter().find(|row| row.name == plan.name()).unwrap_or(&PROTOCOLS[0])
}

/// Returns the scheme called `name` (in upper or lower case), and the table entry of the scheme's protocol.
pub fn by_scheme(name: &str) -> Option<(&'static ProtocolSpec, &'static Scheme)> {
    let all = PROTOCOLS.iter().flat_map(|row| row.schemes.iter().map(move |scheme| (row, scheme)));
    all.into_iter().find(|(_, scheme)| scheme.name.eq_ignore_ascii_case(name))
}

/// Returns the scheme of a target's URL, and the table entry of the scheme's protocol. Without a scheme in the URL, the
/// protocol is HTTP.
pub fn by_url(url: &str) -> Option<(&'static ProtocolSpec, &'static Scheme)> {
    by_scheme(run::UrlParts::parse(url).transport().0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Done, Outcome, Request};

    /// Sends a request with the protocol settings in `plan`. Returns true if the protocol's prepared response completes
    /// the request.
    fn answered(plan: &Protocol) -> Result<bool, ProtoError> {
        let mut sessions = client(plan, None, None)?.sessions(1);
        let (session, mut request, mut piece) = (sessions.session(0), Vec::new(), [0; 512]);
        let greeting = (spec(plan).canned)(plan, &[]);
        while !session.ready() {
            session.transmit(&mut [0; 512]);
            session.receive(&greeting, &mut drop).unwrap();
        }
        session.begin(Request::default());
        while let n @ 1.. = session.transmit(&mut piece) {
            request.extend_from_slice(&piece[..n]);
        }
        let mut ended = Vec::new();
        let answer = (spec(plan).canned)(plan, &request);
        session.receive(&answer, &mut |done: Done| ended.push(done.outcome)).unwrap();
        Ok(ended == [Outcome::Expected])
    }

    #[test]
    fn every_row_of_protocols_is_complete() {
        let mut names = std::collections::BTreeSet::new();
        for row in PROTOCOLS {
            let plan = (row.defaults)();
            assert_eq!((plan.name(), spec(&plan).name), (row.name, row.name));
            assert!(!row.schemes.is_empty() && row.schemes.iter().all(|s| names.insert(s.name)), "{}", row.name);
            // A raw response without a fixed length ends only when the connection is closed. The raw settings in this
            // test therefore expect a fixed number of bytes.
            let plan = match plan {
                Protocol::Raw { send_file, .. } => Protocol::Raw { send_file, expect_bytes: Some(3), read_first: None },
                // HTTP/3 needs the settings of TLS. Measurements without a network use another protocol instead of
                // HTTP/3.
                plan if row.datagrams => (row.without_network)(plan),
                plan => plan,
            };
            assert_eq!(answered(&plan).unwrap(), row.answers, "{}", row.name);
        }
    }

    #[test]
    fn an_unreadable_file_and_an_empty_message_are_named() {
        let fails = |plan: Protocol| answered(&plan).unwrap_err().to_string();
        assert!(
            fails(Protocol::Raw { send_file: Some("/nonexistent/x".into()), expect_bytes: None, read_first: None })
                .contains("/nonexistent/x")
        );
        assert!(fails(Protocol::Echo { message_bytes: 0 }).contains("1 byte"));
        assert!(fails(Protocol::Record { record_bytes: 1 << 21 }).contains("1 MiB"));
    }
}
