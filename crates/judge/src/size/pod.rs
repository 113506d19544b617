//! Resources of a container in Kubernetes. Source: Kubernetes' documentation, "Resource Management for Pods and
//! Containers".

use run::{PodAmounts, PodResources, SizeStep};

/// Number of millicores in a CPU.
const MILLI: u32 = 1000;

/// Returns the resources of a container with a setting. Each replica is a container and gets an equal share of the
/// setting's CPU time and memory. The requested resources equal the limits, because the measured capacity needs all of
/// the CPU time. Kubernetes also evicts Pods whose requests equal their limits last.
pub(super) fn resources(step: &SizeStep) -> Option<PodResources> {
    let containers = f64::from(step.setting.replicas.unwrap_or(1).max(1));
    let cpu = format!("{}m", (f64::from(MILLI) * step.cost_cpus? / containers).ceil());
    let memory = step.rss_bytes.map(|bytes| limit_bytes((bytes / containers) as u64).div_ceil(1 << 20));
    let memory = memory.map(|mebibytes| format!("{mebibytes}Mi"));
    let amounts = PodAmounts { cpu, memory };
    Some(PodResources { requests: amounts.clone(), limits: amounts })
}

/// Returns the memory limit: the largest measured memory plus a quarter (an assumption). A load test of minutes does
/// not show slow growth, and the kernel kills a container that exceeds its limit.
fn limit_bytes(measured: u64) -> u64 {
    measured.saturating_add(measured / 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::SizeSetting;

    #[test]
    fn amounts_have_the_units_of_kubernetes() {
        let step = SizeStep { cost_cpus: Some(0.25), rss_bytes: Some(f64::from(40 << 20)), ..SizeStep::default() };
        let pod = resources(&step).unwrap();
        assert_eq!((pod.limits.cpu.as_str(), pod.limits.memory.as_deref()), ("250m", Some("50Mi")));
        assert_eq!(pod.requests, pod.limits);
        assert_eq!(resources(&SizeStep::default()), None);
        let setting = SizeSetting { replicas: Some(4), ..SizeSetting::default() };
        let each = resources(&SizeStep { setting, cost_cpus: Some(2.0), ..step }).unwrap();
        assert_eq!((each.limits.cpu.as_str(), each.limits.memory.as_deref()), ("500m", Some("13Mi")));
    }
}
