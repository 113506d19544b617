//! Sends one request of a load to a server before the load starts.

use run::{ArenaAnswer, LoadPlan, Plan, ServerQuestion, TlsPlan};

use crate::preflight;
use crate::trial::target;

/// Sends one request like those of the plan's load, and returns the answer. The error says why no answer came.
pub(super) fn first_answer(plan: &Plan) -> Result<ArenaAnswer, String> {
    let url = &plan.target.url;
    let found = target::resolve(url, &plan.load.protocol).map_err(|e| e.to_string())?;
    target::check_authorized(url, &found.addr, plan.target.authorized).map_err(|e| e.to_string())?;
    let tls = found.tls_name.map(|server_name| TlsPlan { server_name, ..plan.load.tls.clone().unwrap_or_default() });
    let load = LoadPlan { protocol: found.protocol, tls, ..plan.load.clone() };
    let answer = preflight::answer(ServerQuestion::Answers, &found.addr, &load);
    let response = answer.response.ok_or_else(|| answer.error.unwrap_or_else(|| "no answer came".into()))?;
    Ok(ArenaAnswer { status: response.status, body_bytes: response.body_bytes, text: response.body })
}
