//! Resources of a container in Kubernetes. Source: Kubernetes' documentation, "Resource Management for Pods and
//! Containers".

use run::{PodAmounts, PodResources, SizeStep};

/// Number of thousandths in a CPU.
const MILLI: u32 = 1000;

/// Returns the resources of a container with a step's setting. Requests equal limits: the measured capacity needs the
/// whole CPU time, and such a Pod is the last to be evicted.
pub(super) fn resources(step: &SizeStep) -> Option<PodResources> {
    let cpu = format!("{}m", (f64::from(MILLI) * step.cost_cpus?).ceil());
    let memory = step.rss_bytes.map(|bytes| format!("{}Mi", limit_bytes(bytes as u64).div_ceil(1 << 20)));
    let amounts = PodAmounts { cpu, memory };
    Some(PodResources { requests: amounts.clone(), limits: amounts })
}

/// Returns the memory limit: a quarter more than the largest measured memory. The quarter is an assumption. A load test
/// of minutes does not show slow growth, and the kernel kills a container above its limit.
fn limit_bytes(measured: u64) -> u64 {
    measured.saturating_add(measured / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_the_units_of_kubernetes() {
        let step = SizeStep { cost_cpus: Some(0.25), rss_bytes: Some(f64::from(40 << 20)), ..SizeStep::default() };
        let pod = resources(&step).unwrap();
        assert_eq!((pod.limits.cpu.as_str(), pod.limits.memory.as_deref()), ("250m", Some("50Mi")));
        assert_eq!(pod.requests, pod.limits);
        assert_eq!(resources(&SizeStep::default()), None);
    }
}
