//! Universal Scalability Law by N. Gunther. The crate `judge` uses the names of the coefficients, and report pages draw
//! curves with [`usl_rate`].

use crate::Fit;

/// Names of the coefficients in a [`Fit`]: rate of one client, contention, coherency.
const NAMES: [&str; 3] = ["lambda", "sigma", "kappa"];

/// Returns X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)), the throughput of N clients.
pub fn usl_rate([lambda, sigma, kappa]: [f64; 3], n: f64) -> f64 {
    lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
}

impl Fit {
    /// Returns the names of the coefficients, in the order of [`usl_rate`].
    pub fn usl_names() -> [String; 3] {
        NAMES.map(String::from)
    }

    /// Returns lambda, sigma and kappa, or `None` if this fit is of another law.
    pub fn usl(&self) -> Option<[f64; 3]> {
        let [lambda, sigma, kappa] = NAMES.map(|name| self.coefficients.get(name).copied());
        Some([lambda?, sigma?, kappa?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usl_fit_returns_its_coefficients_and_rates() {
        let coefficients = Fit::usl_names().into_iter().zip([1000.0, 0.1, 0.01]).collect();
        let fit = Fit { coefficients, ..Fit::default() };
        let law = fit.usl().unwrap();
        assert_eq!((usl_rate(law, 1.0), usl_rate(law, 2.0)), (1000.0, 2000.0 / 1.12));
        assert_eq!(Fit::default().usl(), None);
    }
}
