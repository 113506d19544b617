//! Sends small HTTP bodies to another program, such as measured values to a receiver of metrics.

use run::{Address, HttpPlan, LoadPlan, Protocol, RequestPlan, RequestSet, ServerQuestion, TlsPlan};

use crate::LabError;
use crate::preflight;
use crate::trial::target::resolve;

/// Maximum time to wait for a connection, seconds.
const CONNECT_TIMEOUT_S: f64 = 1.0;
/// Maximum time to wait for an answer, seconds.
const ANSWER_TIMEOUT_S: f64 = 2.0;

/// Another program that receives bodies at a URL.
#[derive(Clone, Debug)]
pub struct Receiver {
    addr: Address,
    plan: LoadPlan,
}

impl Receiver {
    /// Returns the receiver at an HTTP or HTTPS URL, after looking up its host. Each body is sent with the headers in
    /// `headers`.
    pub fn new(url: &str, headers: Vec<(String, String)>) -> Result<Self, LabError> {
        let found = resolve(url, &Protocol::default())?;
        let Protocol::Http1(http) = found.protocol else {
            return Err(LabError::Target { target: url.into(), why: "write http://HOST:PORT/PATH".into() });
        };
        let (timeout_s, connect_timeout_s) = (ANSWER_TIMEOUT_S, CONNECT_TIMEOUT_S);
        let tls = found.tls_name.map(|server_name| TlsPlan { server_name, ..TlsPlan::default() });
        let protocol = Protocol::Http1(HttpPlan { headers, ..http });
        Ok(Self {
            addr: found.addr,
            plan: LoadPlan { protocol, tls, timeout_s, connect_timeout_s, ..LoadPlan::default() },
        })
    }

    /// Sends a body by POST, and waits for a successful answer. The error is a sentence for the user.
    pub fn send(&self, body: String) -> Result<(), String> {
        let path = self.plan.protocol.http().map(|http| http.path.clone()).unwrap_or_default();
        let request = RequestPlan { method: "POST".into(), path, body, ..RequestPlan::default() };
        let requests = Some(RequestSet { requests: vec![request], ..RequestSet::default() });
        let plan = LoadPlan { requests, ..self.plan.clone() };
        let answer = preflight::answer(ServerQuestion::StillAnswers, &self.addr, &plan);
        match (answer.response, answer.error) {
            (Some(response), _) if response.unexpected => {
                Err(format!("{} answers {:?}", self.addr, response.status_line.unwrap_or_default()))
            }
            (Some(_), _) => Ok(()),
            (None, error) => Err(error.unwrap_or_else(|| format!("{} does not answer", self.addr))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    fn against(answer: &'static [u8]) -> (Result<(), String>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1/metrics", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut request, mut piece) = (Vec::new(), [0; 1024]);
            while !request.ends_with(b"{}") {
                let n = stream.read(&mut piece).unwrap();
                request.extend_from_slice(&piece[..n]);
            }
            stream.write_all(answer).unwrap();
            String::from_utf8(request).unwrap()
        });
        let receiver = Receiver::new(&url, vec![("X-Key".into(), "secret".into())]).unwrap();
        (receiver.send("{}".into()), server.join().unwrap())
    }

    #[test]
    fn a_body_arrives_with_its_headers_and_a_refusal_is_named() {
        let (sent, request) = against(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
        assert_eq!(sent, Ok(()));
        assert!(request.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("X-Key: secret\r\n") && request.contains("Content-Length: 2\r\n"), "{request}");
        let (refused, _) = against(b"HTTP/1.1 415 No\r\nContent-Length: 0\r\n\r\n");
        assert!(refused.unwrap_err().contains("415"));
        assert!(Receiver::new("redis://127.0.0.1", Vec::new()).is_err());
        let (_bound, addr) = testkit::refusing();
        let error = Receiver::new(&format!("http://{addr}"), Vec::new()).unwrap().send(String::new()).unwrap_err();
        assert!(error.contains(&addr.to_string()), "{error}");
    }
}
