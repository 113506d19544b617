//! Evidence of the share of a full server's CPU time that goes to TLS handshakes.

use run::{Evidence, FigureUnit};

use crate::Facts;
use crate::context::evidence::measured;
use crate::context::view::View;
use crate::network::handshakes::{each, kinds, request_us, server_us};
use crate::number::{counted, duration, percent, positive, rate, ratio};

/// Returns evidence with the number of handshakes per request and, if known, their share of a request's CPU time.
/// Returns `None` without TLS, or if some requests had no handshake of their own.
pub(super) fn work(facts: &Facts<'_>, view: &View<'_>) -> Option<Evidence> {
    facts.run.plan.load.tls.as_ref()?;
    let whole_us = request_us(view)?;
    let a_request = each(view.trial)?;
    let a_second = ratio(view.trial.measured.tally.handshakes as f64, view.trial.measured.length_s)?;
    let cost = crate::network::handshakes::cost(facts.run).filter(|cost| !cost.with_request);
    let handshake_us = cost.and_then(|cost| server_us(&cost, view.trial));
    let of_it = match handshake_us.and_then(|us| Some((us, ratio(us, whole_us)?))) {
        Some((us, share)) => format!("a handshake is {} of that ({})", duration(us), percent(share.min(1.0))),
        None => "run with kept connections or resumed sessions to see the handshakes' part".into(),
    };
    let text = format!(
        "a request costs the server {} with {} ({}, {}): {of_it}",
        duration(whole_us),
        counted(a_request, "TLS handshake"),
        rate(a_second),
        kinds(view.trial)
    );
    let value = (positive(a_request)?, FigureUnit::HandshakesPerRequest);
    Some(measured(view, ("tls_handshake_cpu_us", ""), value, None, text))
}

#[cfg(test)]
mod tests {
    use crate::planted::{PLANTED, Planted};

    #[test]
    fn a_server_that_is_full_of_handshakes_says_so_and_one_of_kept_connections_does_not() {
        let told = |planted: &Planted| {
            let mut run = planted.run();
            crate::judge(&mut run);
            let evidence = run.findings.bottleneck.evidence;
            evidence.into_iter().find(|e| e.counter == "tls_handshake_cpu_us").map(|e| e.text)
        };
        let full: Vec<_> = PLANTED.iter().filter(|p| p.id == "server-cpu").collect();
        let of = |handshakes: bool| full.iter().find(|p| p.story.contains("handshake") == handshakes).unwrap();
        let text = told(of(true)).unwrap();
        assert!(text.contains("1 TLS handshake (") && text.contains("none resumed"), "{text}");
        assert_eq!(told(of(false)), None);
    }
}
