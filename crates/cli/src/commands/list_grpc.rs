//! `loadline list --grpc URL`: prints the services of a gRPC server, their methods, and the types of their messages.

use anyhow::Context as _;
use descriptors::{Method, Service};
use run::{GrpcPlan, Plan, Protocol};

use crate::args::{TlsArgs, read_header, set_protocol};
use crate::{Exit, output};

/// Arguments about the types of gRPC calls.
#[derive(clap::Args)]
pub(crate) struct GrpcArgs {
    /// Services of a gRPC server, by its reflection: grpc://HOST:PORT; with /package.Service or a method, an example of
    /// each message
    #[arg(long, value_name = "URL", conflicts_with_all = ["table", "markdown", "write_docs"])]
    grpc: Option<String>,
    /// Proto file with services, instead of reflection; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with_all = ["table", "markdown", "write_docs"])]
    proto: Vec<String>,
    /// Folder in which imports of --proto are searched; may be repeated
    #[arg(long, value_name = "DIR", requires = "proto")]
    proto_path: Vec<String>,
    /// Descriptor set with services, instead of reflection; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with_all = ["table", "markdown", "write_docs"])]
    protoset: Vec<String>,
    /// Metadata of the reflection call
    #[arg(long, short = 'H', value_name = "K: V", requires = "grpc")]
    header: Vec<String>,
    /// Confirm that you may ask a server outside this machine and private networks
    #[arg(long, requires = "grpc")]
    authorized: bool,
    #[command(flatten)]
    tls: TlsArgs,
}

impl GrpcArgs {
    /// Returns true if the user asks for the types of gRPC calls.
    pub(crate) fn is_given(&self) -> bool {
        self.grpc.is_some() || !self.proto.is_empty() || !self.protoset.is_empty()
    }

    fn plan(&self) -> anyhow::Result<Plan> {
        let mut plan = Plan::default();
        plan.target.url = self.grpc.clone().unwrap_or_default();
        plan.target.authorized = self.authorized;
        set_protocol(&mut plan)?;
        if plan.target.url.is_empty() {
            plan.load.protocol = Protocol::Grpc(GrpcPlan::default());
        }
        let mut headers = Vec::new();
        for flag in &self.header {
            headers.extend(read_header(flag, &mut plan.load.secrets)?);
        }
        let Protocol::Grpc(call) = &mut plan.load.protocol else {
            anyhow::bail!("--grpc needs a URL with grpc:// or grpcs://");
        };
        call.headers = headers;
        (call.proto_files, call.proto_paths) = (self.proto.clone(), self.proto_path.clone());
        call.descriptor_sets.clone_from(&self.protoset);
        if self.tls.any() || self.grpc.is_some() {
            self.tls.apply(&mut plan)?;
        }
        plan.redact_secrets(&[]);
        Ok(plan)
    }
}

/// Prints the services.
pub(crate) fn run(args: &GrpcArgs) -> anyhow::Result<Exit> {
    let plan = args.plan()?;
    let types = lab::call_types(&plan)?;
    let path =
        plan.target.url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
    let services = types.services();
    let text = match path {
        "" => services.iter().map(|service| described(service, false)).collect::<Vec<_>>().join("\n"),
        path if path.contains('/') => with_example(&types.method(&format!("/{path}"))?),
        name => {
            let named = services.iter().find(|service| service.name() == name);
            let all = || descriptors::listed(services.iter().map(Service::name));
            described(named.with_context(|| format!("there is no service {name:?}; there are {}", all()))?, true)
        }
    };
    output::print(&text)?;
    Ok(Exit::Done)
}

/// Returns the lines about a service. With `examples`, each method has an example of its message.
fn described(service: &Service, examples: bool) -> String {
    let methods = service.methods();
    let widest = methods.iter().map(|method| method.name().len()).max().unwrap_or_default();
    let line = |method: &Method| match examples {
        true => format!("  {}", with_example(method).replace('\n', "\n  ").trim_end().to_owned() + "\n"),
        false => format!("  {:<widest$}  {}\n", method.name(), messages(method)),
    };
    format!("{}\n{}", service.name(), methods.iter().map(line).collect::<String>())
}

/// Returns the message types of a method: `Request -> stream Answer`.
fn messages(method: &Method) -> String {
    let word = |streams: bool| if streams { "stream " } else { "" };
    let [request, answer] = method.message_types();
    format!("{}{request} -> {}{answer}", word(method.streams_requests()), word(method.streams_answers()))
}

/// Returns the lines about a method, with an example of its message for a shell.
fn with_example(method: &Method) -> String {
    let example = method.example().replace('\'', r"'\''");
    format!("{}  {}\n  --grpc-json '{example}'\n", method.name(), messages(method))
}
