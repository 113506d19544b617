//! Formulas of queueing theory, from which the capacity for an objective follows. Each formula names its source. Times
//! are in seconds, and rates in requests per second.

/// Returns the highest rate below `top` for which `holds` returns true, with an error of at most `top` × 10^-9. If
/// `holds` returns true for a rate, it must also return true for all lower rates.
pub fn highest(top: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, top);
    while high - low > top * 1e-9 {
        let middle = f64::midpoint(low, high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

/// Returns the arrival rate at which the `share` quantile of an M/M/1 queue's response time is `limit_s`. The response
/// time is exponential with rate `mu - lambda` (Kleinrock, Queueing Systems I, 1975, section 5.7). The quantile is
/// therefore `-ln(1 - share) / (mu - lambda)`.
pub fn mm1_capacity(mu: f64, share: f64, limit_s: f64) -> f64 {
    (mu + (1.0 - share).ln() / limit_s).max(0.0)
}

/// Returns the probability that an arrival has to wait (Erlang C). `servers` is the number of servers, and `load` is
/// the arrival rate times the mean service time. Source: Erlang 1917. The probability is computed by the numerically
/// stable recursion of Erlang B.
pub fn erlang_c(servers: u32, load: f64) -> f64 {
    let blocked = (1..=servers).fold(1.0, |b, n| load * b / (f64::from(n) + load * b));
    let c = f64::from(servers);
    c * blocked / (c - load * (1.0 - blocked))
}

/// Returns the share of requests that take longer than `t_s` in an M/M/c queue. C is the probability of waiting (Erlang
/// C). The wait is 0 with probability `1 - C`, and otherwise exponential with rate `c mu - lambda`. The response time
/// is the wait plus the service time (Gross and Harris, Fundamentals of Queueing Theory, section 2.3).
pub fn mmc_tail(servers: u32, mu: f64, lambda: f64, t_s: f64) -> f64 {
    let (waits, spare) = (erlang_c(servers, lambda / mu), f64::from(servers) * mu - lambda);
    let service = (-mu * t_s).exp();
    // Probability that the sum of an exponential wait and an exponential service time exceeds `t_s`. If the rates of
    // the wait and of the service time are equal, the general formula would divide by zero.
    let both = match (spare - mu).abs() < 1e-9 * mu {
        true => service * (1.0 + mu * t_s),
        false => (spare * service - mu * (-spare * t_s).exp()) / (spare - mu),
    };
    (1.0 - waits) * service + waits * both
}

/// Returns the share of requests that take longer than `t_s` in a closed M/M/1 queue (machine repairman model). The
/// users of the queue have exponentially distributed think times. An arriving user sees the queue of a system with one
/// user fewer (Sevcik and Mitrani, J. ACM 28, 1981). In a closed M/M/1 queue with `n` users, the probability of `j`
/// users at the server is proportional to `n! / (n - j)! r^j`. The ratio `r` is the service time divided by the think
/// time. If `j` users are ahead of an arriving user, the response time has an Erlang distribution with `j + 1` stages.
pub fn users_tail(users: u32, think_s: f64, service_s: f64, t_s: f64) -> f64 {
    let (others, ratio, x) = (users.saturating_sub(1), service_s / think_s, t_s / service_s);
    let (mut weight, mut stage, mut tail, mut whole, mut late) = (1.0, (-x).exp(), (-x).exp(), 0.0, 0.0);
    for j in 0..=others {
        (whole, late) = (whole + weight, late + weight * tail);
        weight *= f64::from(others - j) * ratio;
        stage *= x / f64::from(j + 1);
        tail += stage;
    }
    late / whole
}

/// Returns the share of requests that take longer than `t_s` in an M/D/1 queue with the service time `service_s`. The
/// formula (Erlang 1909; Crommelin 1932) is `P(wait <= x) = (1 - rho) sum over k from 0 to x/D of exp(lambda (x - k D))
/// (-lambda (x - k D))^k / k!`. The terms of the sum alternate in sign, so the result is accurate only for waits up to
/// about twenty service times.
pub fn md1_tail(service_s: f64, lambda: f64, t_s: f64) -> f64 {
    let wait_s = t_s - service_s;
    if wait_s < 0.0 {
        return 1.0;
    }
    let term = |k: u32| {
        let left = lambda * (wait_s - f64::from(k) * service_s);
        let power: f64 = (1..=k).map(|i| -left / f64::from(i)).product();
        left.exp() * power
    };
    let within: f64 = (0..=(wait_s / service_s) as u32).map(term).sum();
    (1.0 - (1.0 - lambda * service_s) * within).clamp(0.0, 1.0)
}

/// Returns the rate of evenly spaced arrivals at which the `share` quantile of a D/M/1 queue's response time is
/// `limit_s`. The response time is exponential with rate `mu (1 - sigma)`, where `sigma = exp(-mu (1 - sigma) /
/// lambda)` (Kleinrock, Queueing Systems I, 1975, section 6.4). The given quantile determines `mu (1 - sigma)`, from
/// which `sigma` and then the arrival rate follow.
pub fn dm1_capacity(mu: f64, share: f64, limit_s: f64) -> f64 {
    let decay = -(1.0 - share).ln() / limit_s;
    decay / -(1.0 - decay / mu).ln()
}

/// Returns the share of Poisson arrivals that a token bucket refuses. The tokens that are missing from the bucket
/// behave like the unfinished work of an M/D/1 queue with room for `burst` requests. A refused request corresponds to
/// an arrival that finds the queue full. The share of arrivals that find the queue full (the loss of M/D/1/K) follows
/// from the queue's embedded Markov chain (Gross and Harris, section 5.1.7). `load` is the arrival rate divided by the
/// bucket's rate.
pub fn bucket_refuses(burst: u32, load: f64) -> f64 {
    // `arrivals` contains the probability of n arrivals during one service time, for each n. `weights` contains the
    // probability of each state of the queue, divided by the probability of an empty queue.
    let arrivals: Vec<f64> =
        (0..=burst).scan((-load).exp(), |p, n| Some(std::mem::replace(p, *p * load / f64::from(n + 1)))).collect();
    let mut weights = vec![1.0];
    for n in 0..burst as usize - 1 {
        let into = |from: usize| weights[from] * arrivals[n + 1 - from];
        let reached: f64 = (1..=n).map(into).sum();
        weights.push((weights[n] - reached - arrivals[n]) / arrivals[0]);
    }
    let empty = 1.0 / weights.iter().sum::<f64>();
    1.0 - 1.0 / (empty + load)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mmc_with_one_server_equals_mm1() {
        for lambda in [100.0, 700.0, 950.0] {
            let exact = (-(1000.0 - lambda) * 0.004_f64).exp();
            assert!((mmc_tail(1, 1000.0, lambda, 0.004) - exact).abs() < 1e-12);
        }
        let capacity = highest(1000.0, |lambda| mmc_tail(1, 1000.0, lambda, 0.05) <= 0.01);
        assert!((capacity - mm1_capacity(1000.0, 0.99, 0.05)).abs() < 1e-3, "{capacity}");
    }

    #[test]
    fn erlang_c_equals_published_tables() {
        // With two servers, Erlang's formula is 2 rho^2 / (1 + rho), which is 1/3 for rho = 1/2.
        assert!((erlang_c(2, 1.0) - 1.0 / 3.0).abs() < 1e-12);
        assert!((erlang_c(1, 0.3) - 0.3).abs() < 1e-12);
    }

    #[test]
    fn md1_has_the_minimum_of_one_service_and_the_mean_of_pollaczek_and_khinchine() {
        assert_eq!(md1_tail(0.001, 500.0, 0.0009), 1.0);
        let (service, lambda) = (0.001, 700.0);
        let mean: f64 = (0..20_000).map(|i| md1_tail(service, lambda, (f64::from(i) + 0.5) * 1e-6) * 1e-6).sum();
        let exact = service + lambda * service * service / (2.0 * (1.0 - lambda * service));
        assert!((mean / exact - 1.0).abs() < 1e-3, "{mean} {exact}");
    }

    #[test]
    fn one_token_refuses_as_erlang_b_and_many_tokens_refuse_only_the_excess() {
        // With room for one request, the queue is full for the share load / (1 + load) of the time. The share of the
        // time in which the queue is full does not depend on the distribution of the service times.
        assert!((bucket_refuses(1, 0.5) - 1.0 / 3.0).abs() < 1e-12);
        assert!((bucket_refuses(200, 2.0) - 0.5).abs() < 1e-6);
        assert!(bucket_refuses(50, 0.5) < 1e-9);
    }
}
