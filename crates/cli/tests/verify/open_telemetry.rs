//! Test of `--spans` with the SDK of OpenTelemetry for Python, as a traced application uses it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::Value;
use testkit::{ChildProcess, alone, binary, first_line, free_port, json, num, python_with_packages, total};

/// Server whose requests take 6 ms, 4 ms of them in the span SELECT. The server traces only requests whose
/// `traceparent` header says that they are sampled. The exporter's settings come from environment variables.
const SERVER: &str = r#"
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased

provider = TracerProvider(sampler=ParentBased(ALWAYS_OFF))
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
tracer = provider.get_tracer("shop")

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def do_GET(self):
        context = propagate.extract(self.headers)
        with tracer.start_as_current_span("GET /", context=context, kind=trace.SpanKind.SERVER):
            time.sleep(0.002)
            with tracer.start_as_current_span("SELECT"):
                time.sleep(0.004)
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("127.0.0.1:%d" % server.server_port, flush=True)
server.serve_forever()
"#;

fn server(receiver: u16, compression: &str) -> Option<(ChildProcess, String)> {
    let packages = ["opentelemetry-sdk==1.*", "opentelemetry-exporter-otlp-proto-http==1.*"];
    let mut command = python_with_packages("spans of OpenTelemetry", "opentelemetry", &packages, SERVER)?;
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{receiver}"));
    command.env("OTEL_EXPORTER_OTLP_COMPRESSION", compression).env("OTEL_SERVICE_NAME", "shop");
    command.env("OTEL_BSP_SCHEDULE_DELAY", "200");
    let mut server = ChildProcess::start(&mut command);
    let addr = first_line(&mut server.0);
    Some((server, addr))
}

fn span<'a>(spans: &'a Value, name: &str) -> &'a Value {
    spans["spans"].as_array().unwrap().iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("{spans}"))
}

/// The SDK sends protobuf. Half of the requests have a trace context. The window may begin or end within a request of
/// each of the two clients.
#[test]
fn spans_of_an_sdk_are_those_of_the_traced_requests() {
    let _alone = alone();
    for compression in ["none", "gzip"] {
        let port = free_port();
        let Some((_server, addr)) = server(port, compression) else { return };
        let (url, port) = (format!("http://{addr}/"), port.to_string());
        let window = ["--duration", "1500ms", "--warmup", "0s", "--at-rest", "0s", "--connections", "2"];
        let load = ["load", &url, "--traceparent", "50%", "--spans", &port];
        let run = json(binary!(), &[&load[..], &window].concat());
        let (trial, traced) = (&run["trials"][0], total(&run, "traced"));
        let (root, select) = (span(&trial["spans"], "GET /"), span(&trial["spans"], "SELECT"));
        assert_eq!((&root["service"], &select["service"]), (&"shop".into(), &"shop".into()));
        for count in [&trial["spans"]["traces"], &root["count"], &select["count"]] {
            let count = count.as_u64().unwrap();
            assert!(
                count > 10 && traced.abs_diff(count) <= 2,
                "{compression}: {count} of {traced}: {}",
                trial["spans"]
            );
        }
        // Python may oversleep, but never wakes up too early.
        assert!(num(&root["self_us"]) >= 1990.0 && num(&select["self_us"]) >= 3990.0, "{compression}: {trial}");
    }
}
