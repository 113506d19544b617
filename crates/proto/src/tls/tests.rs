//! Tests of the client and the server against each other in memory. Data must arrive unchanged however it is split, and
//! each error must be explained by a sentence.

use proptest::prelude::*;
use run::{Protocol, TlsPlan, TlsVersion};

use super::client::TlsClient;
use super::{ClientSession, ServerConfig, ServerSession, config, self_signed, server_config};
use crate::{Client, Done, Fault, ProtocolSpec, Request, Requester, Session, echo, http1};

type Ours = ClientSession<echo::ClientSession>;
type Theirs = ServerSession<echo::ServerSession>;

const MESSAGE: u64 = 40_000;

/// Builds a client, and a server with a certificate that the client trusts unless the settings name another authority.
fn ends(plan: TlsPlan, alpn: (&'static str, &[&str])) -> (TlsClient<echo::ClientPlan>, ServerConfig) {
    let (chain, key) = self_signed(&["good.example", "127.0.0.1"]).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &chain).unwrap();
    let ca_file = Some(file.path().display().to_string());
    let name = if plan.server_name.is_empty() { "good.example".to_owned() } else { plan.server_name.clone() };
    let plan = TlsPlan { ca_file: plan.ca_file.clone().or(ca_file), server_name: name, ..plan };
    let spec = ProtocolSpec { alpn: alpn.0, ..ProtocolSpec::DEFAULT };
    let client = config::client(&plan, spec, echo::ClientPlan::new(MESSAGE)).unwrap();
    (client, server_config(chain.as_bytes(), key.as_bytes(), alpn.1).unwrap())
}

fn server(config: &ServerConfig) -> Theirs {
    ServerSession::new(echo::ServerSession::default(), config.clone())
}

/// Lets client and server exchange bytes in pieces until neither has more to send. Returns the number of answered
/// requests.
fn talk(ours: &mut Ours, theirs: &mut Theirs, pieces: (usize, usize), requests: u32) -> Result<u32, Fault> {
    let (mut buffer, mut begun, mut ended) = (vec![0; 70_000], 0, 0);
    loop {
        if ours.ready() && begun < requests {
            ours.begin(Request::default());
            begun += 1;
        }
        let n = ours.transmit(&mut buffer[..pieces.0]);
        if n > 0 {
            theirs.receive(&buffer[..n])?;
        }
        let m = theirs.transmit(&mut buffer[..pieces.1]);
        if m > 0 {
            ended += ours.receive(&buffer[..m], &mut drop)?.completed;
        }
        if n + m == 0 {
            assert!(!ours.wants_transmit() && !theirs.wants_transmit());
            return Ok(ended);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_split_carries_the_message_both_ways(out in 1_usize..3000, back in 1_usize..70_000, old in any::<bool>()) {
        let version = Some(if old { TlsVersion::V1_2 } else { TlsVersion::V1_3 });
        let (client, config) = ends(TlsPlan { version, ..TlsPlan::default() }, ("", &[]));
        let (mut ours, mut theirs) = (client.session(), server(&config));
        prop_assert!(!ours.ready() && ours.wants_transmit());
        prop_assert_eq!(talk(&mut ours, &mut theirs, (out, back), 3), Ok(3));
        prop_assert!(!ours.resumed() && ours.explain().is_none());
        prop_assert!(ours.peer_closed(&mut drop).is_ok());
    }
}

#[test]
fn a_session_is_taken_up_again_as_often_as_was_asked_for() {
    for version in [TlsVersion::V1_2, TlsVersion::V1_3] {
        for (resume, expected) in [(0.0, 0), (1.0, 19), (0.5, 9)] {
            let plan = TlsPlan { resume, version: Some(version), ..TlsPlan::default() };
            let (client, config) = ends(plan, ("", &[]));
            let (mut ours, mut resumed) = (client.session(), 0);
            for _ in 0..20 {
                assert_eq!(talk(&mut ours, &mut server(&config), (5000, 5000), 1), Ok(1));
                resumed += u32::from(ours.resumed());
                ours.reset();
            }
            assert_eq!(resumed, expected, "{version:?} {resume}");
        }
    }
}

#[test]
fn a_record_that_was_changed_ends_the_connection() {
    let (client, config) = ends(TlsPlan::default(), ("", &[]));
    let (mut ours, mut theirs) = (client.session(), server(&config));
    talk(&mut ours, &mut theirs, (5000, 5000), 0).unwrap();
    ours.begin(Request::default());
    let mut buffer = [0; 1000];
    let n = ours.transmit(&mut buffer);
    theirs.receive(&buffer[..n]).unwrap();
    let n = theirs.transmit(&mut buffer);
    buffer[n / 2] ^= 1;
    assert!(ours.receive(&buffer[..n], &mut drop).is_err());
    assert!(ours.explain().unwrap().contains("changed on its way"));
}

/// Returns the client's explanation of a failed connection to a server; `None` if the connection succeeds.
fn complaint(plan: TlsPlan, alpn: (&'static str, &[&str]), other: Option<ServerConfig>) -> Option<String> {
    let (client, config) = ends(plan, alpn);
    let mut ours = client.session();
    let talked = talk(&mut ours, &mut server(other.as_ref().unwrap_or(&config)), (5000, 5000), 1);
    talked.is_err().then(|| ours.explain().unwrap_or_else(|| talked.unwrap_err().to_string()))
}

fn expired() -> ServerConfig {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["good.example".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2001, 1, 1);
    params.not_after = rcgen::date_time_ymd(2002, 1, 1);
    let cert = params.self_signed(&key).unwrap();
    server_config(cert.pem().as_bytes(), key.serialize_pem().as_bytes(), &[]).unwrap()
}

fn stranger() -> ServerConfig {
    let (chain, key) = self_signed(&["other.example", "good.example"]).unwrap();
    server_config(chain.as_bytes(), key.as_bytes(), &[]).unwrap()
}

#[test]
fn an_unverified_certificate_is_explained_and_accepted_if_insecure() {
    let named = |name: &str| TlsPlan { server_name: name.into(), ..TlsPlan::default() };
    for (plan, other, words) in [
        (TlsPlan::default(), Some(stranger()), "not signed by an authority that is trusted here"),
        (named("bad.example"), None, "is not for \"bad.example\" but for"),
        (named("127.0.0.2"), None, "is not for \"127.0.0.2\""),
    ] {
        let said = complaint(plan.clone(), ("", &[]), other.clone()).unwrap();
        assert!(said.contains(words) && said.contains("--insecure"), "{said}");
        assert_eq!(complaint(TlsPlan { insecure: true, ..plan }, ("", &[]), other), None);
    }
    assert_eq!(complaint(named("127.0.0.1"), ("", &[]), None), None);
    assert_eq!(complaint(TlsPlan { insecure: true, ..TlsPlan::default() }, ("", &[]), Some(expired())), None);
}

#[test]
fn an_expired_certificate_is_named_even_if_its_authority_is_trusted() {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["good.example".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2001, 1, 1);
    params.not_after = rcgen::date_time_ymd(2002, 1, 1);
    let cert = params.self_signed(&key).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), cert.pem()).unwrap();
    let config = server_config(cert.pem().as_bytes(), key.serialize_pem().as_bytes(), &[]).unwrap();
    let ca_file = Some(file.path().display().to_string());
    let said = complaint(TlsPlan { ca_file, ..TlsPlan::default() }, ("", &[]), Some(config)).unwrap();
    assert!(said.contains("expired") && said.contains("days ago"), "{said}");
}

#[test]
fn the_protocol_inside_tls_is_negotiated() {
    assert_eq!(complaint(TlsPlan::default(), ("http/1.1", &["h2", "http/1.1"]), None), None);
    assert_eq!(complaint(TlsPlan::default(), ("h2", &["h2"]), None), None);
    assert!(complaint(TlsPlan::default(), ("h2", &[]), None).unwrap().contains("does not choose h2"));
}

#[test]
fn a_plain_server_is_recognised() {
    let (client, _) = ends(TlsPlan::default(), ("", &[]));
    let mut ours = client.session();
    ours.transmit(&mut [0; 5000]);
    assert!(ours.receive(b"HTTP/1.1 400 Bad Request\r\n\r\n", &mut drop).is_err());
    assert!(ours.explain().unwrap().contains("http://"), "{:?}", ours.explain());
}

#[test]
fn a_handshake_cut_at_any_byte_fails() {
    let (client, config) = ends(TlsPlan::default(), ("", &[]));
    let (mut ours, mut theirs, mut buffer) = (client.session(), server(&config), [0; 8000]);
    let n = ours.transmit(&mut buffer);
    theirs.receive(&buffer[..n]).unwrap();
    let n = theirs.transmit(&mut buffer);
    let flight = buffer[..n].to_vec();
    for byte in &flight[..n - 1] {
        assert!(!ours.ready());
        ours.receive(&[*byte], &mut |_: Done| ()).unwrap();
        assert_eq!(ours.peer_closed(&mut drop), Err(Fault::Short));
    }
}

#[test]
fn endless_handshake_messages_are_bounded() {
    let (client, _) = ends(TlsPlan::default(), ("", &[]));
    let mut ours = client.session();
    ours.transmit(&mut [0; 5000]);
    // The record begins a certificate message that announces a length of 16 MiB. The test sends this record repeatedly.
    let mut record = vec![22, 3, 3, 0x40, 0];
    record.extend([11, 0xff, 0xff, 0xff]);
    record.resize(5 + 16_384, 0);
    let outcome = (0..2000).find_map(|_| ours.receive(&record, &mut drop).err());
    assert!(outcome.is_some(), "it never said that it is too much");
}

/// The certificates are like those of `openssl req -x509`: each one is its own authority.
#[test]
fn a_servers_own_certificate_is_trusted_if_it_is_given() {
    let authority = |names: &[&str], ended: bool| {
        let mut params =
            rcgen::CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, "common.example");
        if ended {
            params.not_after = rcgen::date_time_ymd(2001, 1, 1);
        }
        let key = rcgen::KeyPair::generate().unwrap();
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    };
    let tried = |served: &(String, String), trusted: &str, name: &str| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), trusted).unwrap();
        let ca_file = Some(file.path().display().to_string());
        let plan = TlsPlan { ca_file, server_name: name.into(), ..TlsPlan::default() };
        let client = config::client(&plan, ProtocolSpec::DEFAULT, echo::ClientPlan::new(MESSAGE)).unwrap();
        let config = server_config(served.0.as_bytes(), served.1.as_bytes(), &[]).unwrap();
        let mut ours = client.session();
        talk(&mut ours, &mut server(&config), (5000, 5000), 1).map_err(|_| ours.explain().unwrap_or_default())
    };
    let (named, unnamed, old) =
        (authority(&["box.example"], false), authority(&[], false), authority(&["box.example"], true));
    assert_eq!(tried(&named, &named.0, "box.example"), Ok(1));
    assert_eq!(tried(&unnamed, &unnamed.0, "common.example"), Ok(1), "the common name of one without names");
    for (served, trusted, name, says) in [
        (&named, &named.0, "other.example", "not for"),
        (&named, &named.0, "common.example", "not for"),
        (&unnamed, &unnamed.0, "other.example", "not for"),
        (&old, &old.0, "box.example", "expired"),
        (&named, &unnamed.0, "box.example", "--cacert"),
    ] {
        let error = tried(served, trusted, name).unwrap_err();
        assert!(error.contains(says), "{name}: {error}");
    }
}

/// An earlier version of the client failed all requests of a pipeline over TLS when the server closed the connection
/// between two answers.
#[test]
fn requests_of_a_pipeline_may_be_sent_again_as_without_tls() {
    let plan = TlsPlan { insecure: true, server_name: "good.example".into(), ..TlsPlan::default() };
    let http = http1::ClientPlan::new(&Protocol::default()).unwrap();
    assert!(config::client(&plan, ProtocolSpec::DEFAULT, http).unwrap().resends_pipelined());
    assert!(!ends(plan, ("", &[])).0.resends_pipelined(), "the protocol within TLS decides");
}
