//! Tests of the statements in the appendix of the HPCC paper.

use crate::sets::controls::close;
use proptest::prelude::*;

/// Returns the rates after one step of the paper's recursion (5)–(6). `uses[i][j]` is true if flow
/// j crosses link i.
fn step(uses: &[Vec<bool>], capacity: &[f64], rates: &[f64]) -> Vec<f64> {
    let load = loads(uses, rates);
    let relative: Vec<f64> = load
        .iter()
        .zip(capacity)
        .map(|(load, c)| load / c)
        .collect();
    let most = |j: usize| {
        let links = (0..uses.len()).filter(|i| uses[*i][j]);
        links.map(|i| relative[i]).fold(0.0, f64::max)
    };
    (0..rates.len()).map(|j| rates[j] / most(j)).collect()
}

/// Returns the load of each link.
fn loads(uses: &[Vec<bool>], rates: &[f64]) -> Vec<f64> {
    let of = |row: &Vec<bool>| {
        let crossing = rates.iter().zip(row).filter(|(_, on)| **on);
        crossing.map(|(rate, _)| rate).sum()
    };
    uses.iter().map(of).collect()
}

/// HPCC-26: the paper's bound on the number of steps is too small. Counterexample: links of
/// capacity 1 and 10, one flow over both and one over the second only, both with initial rate 1.
/// The second flow should reach 9, but after two steps (the number of links) it has 8⅓.
#[test]
fn the_recursion_can_take_more_steps_than_links() {
    let uses = [vec![true, false], vec![true, true]];
    let once = step(&uses, &[1.0, 10.0], &[1.0, 1.0]);
    assert_eq!(once, [1.0, 5.0]);
    let twice = step(&uses, &[1.0, 10.0], &once);
    close(twice[1], 25.0 / 3.0);
    let mut rates = twice;
    for _ in 0..20 {
        rates = step(&uses, &[1.0, 10.0], &rates);
    }
    close(rates[1], 9.0);
}

/// Generates a random network: `uses`, capacities and initial rates. Every flow crosses a link.
fn network(
    links: usize,
    flows: usize,
) -> impl Strategy<Value = (Vec<Vec<bool>>, Vec<f64>, Vec<f64>)> {
    let sizes = (1..links, 1..flows);
    let all = sizes.prop_flat_map(|(links, flows)| {
        (
            prop::collection::vec(prop::collection::vec(any::<bool>(), flows), links),
            prop::collection::vec(0.5f64..100.0, links),
            prop::collection::vec(0.01f64..100.0, flows),
        )
    });
    all.prop_map(|(mut uses, capacity, start)| {
        for j in 0..start.len() {
            let link = j % uses.len();
            uses[link][j] = true;
        }
        (uses, capacity, start)
    })
}

/// Returns the largest ratio of load to capacity on the path of a flow.
fn fullest(uses: &[Vec<bool>], capacity: &[f64], load: &[f64], flow: usize) -> f64 {
    let links = (0..uses.len()).filter(|i| uses[*i][flow]);
    links.map(|i| load[i] / capacity[i]).fold(0.0, f64::max)
}

/// Returns true if a link is full, with tolerance for rounding.
fn full(load: f64, capacity: f64) -> bool {
    load >= capacity * (1.0 - 1e-11)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// HPCC-26: on random networks, the rates are feasible after one step, which fills the most
    /// loaded link. Rates never fall after this step. They converge to a Pareto optimum.
    #[test]
    fn recursion_tends_to_a_pareto_optimum((uses, capacity, start) in network(6, 9)) {
        let relative: Vec<f64> =
            loads(&uses, &start).iter().zip(&capacity).map(|(load, c)| load / c).collect();
        let busiest = (0..relative.len()).max_by(|a, b| relative[*a].total_cmp(&relative[*b]));
        let busiest = busiest.expect("there is a link");
        let mut rates = step(&uses, &capacity, &start);
        close(loads(&uses, &rates)[busiest], capacity[busiest]);
        for _ in 0..3_000 {
            let next = step(&uses, &capacity, &rates);
            for (new, old) in next.iter().zip(&rates) {
                prop_assert!(*new >= old * (1.0 - 1e-12));
            }
            rates = next;
            for (load, capacity) in loads(&uses, &rates).iter().zip(&capacity) {
                prop_assert!(*load <= capacity * (1.0 + 1e-9));
            }
        }
        let load = loads(&uses, &rates);
        for j in 0..rates.len() {
            let full = (0..uses.len()).any(|i| uses[i][j] && load[i] >= capacity[i] * 0.99);
            prop_assert!(full, "flow {} crosses no full link", j);
        }
    }

    /// HPCC-26: consider the link with the highest utilisation among links that are not full. From
    /// the first step on, each step multiplies the slack of this link by a factor: the share of its
    /// load that belongs to flows limited by a full link. Without such flows, the link is full
    /// after the step.
    #[test]
    fn limited_flows_say_how_fast_a_link_fills((uses, capacity, start) in network(6, 9)) {
        let mut rates = step(&uses, &capacity, &start);
        for _ in 0..30 {
            let load = loads(&uses, &rates);
            let open = |i: &usize| {
                // Links that some flow can still fill, because no full link limits this flow.
                !full(load[*i], capacity[*i]) && (0..rates.len()).any(|j| {
                    uses[*i][j] && fullest(&uses, &capacity, &load, j) < 1.0 - 1e-11
                })
            };
            let share = |i: usize| load[i] / capacity[i];
            let next = (0..uses.len()).filter(open).max_by(|a, b| share(*a).total_cmp(&share(*b)));
            rates = step(&uses, &capacity, &rates);
            let Some(link) = next else { break };
            let limited: f64 = (0..rates.len())
                .filter(|j| uses[link][*j] && fullest(&uses, &capacity, &load, *j) >= 1.0 - 1e-11)
                .map(|j| rates[j])
                .sum();
            let slack = capacity[link] - load[link];
            let left = capacity[link] - loads(&uses, &rates)[link];
            let wanted = slack * limited / load[link];
            prop_assert!((left - wanted).abs() < 1e-9 * capacity[link], "{} for {}", left, wanted);
        }
    }

    /// HPCC-26: the paper's bound (at most as many steps as links) holds under a condition: no flow
    /// that a full link limits crosses a link that is not full yet.
    #[test]
    fn the_bound_on_steps_holds_where_limited_flows_stay_apart((uses, capacity, start) in network(6, 9)) {
        let mut rates = step(&uses, &capacity, &start);
        let mut apart = true;
        for _ in 1..uses.len() {
            let load = loads(&uses, &rates);
            let limited = |j: usize| fullest(&uses, &capacity, &load, j) >= 1.0 - 1e-11;
            let open = (0..uses.len()).filter(|i| !full(load[*i], capacity[*i]));
            for i in open {
                let crossing: Vec<usize> = (0..rates.len()).filter(|j| uses[i][*j]).collect();
                let mixed = crossing.iter().any(|j| limited(*j)) && !crossing.iter().all(|j| limited(*j));
                apart &= !mixed;
            }
            rates = step(&uses, &capacity, &rates);
        }
        prop_assume!(apart);
        let load = loads(&uses, &rates);
        for j in 0..rates.len() {
            let most = fullest(&uses, &capacity, &load, j);
            prop_assert!(most >= 1.0 - 1e-9, "flow {} fills its path to {}", j, most);
        }
    }
}

/// Returns the rates after one round trip of App. A.3. Each flow uses the largest utilisation on
/// its path, and the additive increase `a`.
fn additive_step(
    uses: &[Vec<bool>],
    capacity: &[f64],
    rates: &[f64],
    eta: f64,
    a: f64,
) -> Vec<f64> {
    let load = loads(uses, rates);
    let next = |(j, rate): (usize, &f64)| rate * eta / fullest(uses, capacity, &load, j) + a;
    rates.iter().enumerate().map(next).collect()
}

/// Returns the max-min fair rates, computed by progressive filling.
fn max_min(uses: &[Vec<bool>], capacity: &[f64], flows: usize) -> Vec<f64> {
    let mut rates: Vec<Option<f64>> = vec![None; flows];
    while rates.iter().any(Option::is_none) {
        let level = |i: usize| {
            let on = (0..flows).filter(|j| uses[i][*j]);
            let (mut free, mut left) = (0, capacity[i]);
            for j in on {
                match rates[j] {
                    Some(rate) => left -= rate,
                    None => free += 1,
                }
            }
            (free > 0).then(|| left / f64::from(free))
        };
        let levels = (0..uses.len()).filter_map(|i| level(i).map(|l| (l, i)));
        let (lowest, at) = levels
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .expect("an open link");
        for (rate, on) in rates.iter_mut().zip(&uses[at]) {
            if *on && rate.is_none() {
                *rate = Some(lowest);
            }
        }
    }
    rates.into_iter().map(|r| r.expect("filled")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// HPCC-27: with a small additive increase `a`, every flow converges to R = a / (1 − η/U), with
    /// U of the fullest link on its path. U = η / (1 − a/R), so U is below 1 if a < R (1 − η). The
    /// rates are nearly max-min fair.
    #[test]
    fn equilibrium_of_the_additive_recursion((uses, capacity, start) in network(4, 7)) {
        let (eta, flows) = (0.95, start.len());
        let fair = max_min(&uses, &capacity, flows);
        let least = fair.iter().copied().fold(f64::INFINITY, f64::min);
        let a = least * 0.002;
        let mut rates = start;
        // The number of round trips to convergence grows with the ratio of the rate to `a`.
        let settled = (0..600_000).any(|_| {
            let next = additive_step(&uses, &capacity, &rates, eta, a);
            let still = |(new, old): (&f64, &f64)| (new / old - 1.0).abs() < 1e-10;
            let all = next.iter().zip(&rates).all(still);
            rates = next;
            all
        });
        prop_assume!(settled);
        let load = loads(&uses, &rates);
        for j in 0..flows {
            let u = fullest(&uses, &capacity, &load, j);
            prop_assert!((rates[j] / (a / (1.0 - eta / u)) - 1.0).abs() < 1e-3, "flow {} at {}", j, u);
            prop_assert!((u / (eta / (1.0 - a / rates[j])) - 1.0).abs() < 1e-6);
            prop_assert!(u < 1.0 && u > eta);
            prop_assert!((rates[j] / (eta * fair[j]) - 1.0).abs() < 0.02, "{} of {}", rates[j], fair[j]);
        }
    }
}

/// Returns the windows (registers of Eq. 7) per flow and link, and the rates, after many round
/// trips.
fn alpha_fair(
    uses: &[Vec<bool>],
    capacity: &[f64],
    flows: usize,
    alpha: f64,
    a: f64,
) -> (Vec<Vec<f64>>, Vec<f64>) {
    let eta = 0.95;
    let mut registers = vec![vec![1.0f64; flows]; uses.len()];
    let mut rates = vec![0.0; flows];
    for _ in 0..60_000 {
        for (j, rate) in rates.iter_mut().enumerate() {
            let on = (0..uses.len()).filter(|i| uses[*i][j]);
            let sum: f64 = on.map(|i| libm::pow(registers[i][j], -alpha)).sum();
            *rate = libm::pow(sum, -1.0 / alpha);
        }
        let load = loads(uses, &rates);
        for (i, row) in registers.iter_mut().enumerate() {
            for register in row {
                let next = *register * eta * capacity[i] / load[i] + a;
                *register = next.min(1e6); // without limit, it grows for ever on an idle link
            }
        }
    }
    (registers, rates)
}

/// HPCC-32, HPCC-39: a parking lot of L links has one long flow over all links and one short flow
/// over each link. Rate of the long flow = L^(−1/α) · rate of a short flow: 1/L for α = 1, equal
/// rates for large α.
#[test]
fn alpha_decides_what_the_long_flow_of_a_parking_lot_gets() {
    for links in [2usize, 4] {
        for alpha in [0.5, 1.0, 2.0, 8.0] {
            let uses: Vec<Vec<bool>> = (0..links)
                .map(|i| (0..=links).map(|j| j == 0 || j == i + 1).collect())
                .collect();
            let (_, rates) = alpha_fair(&uses, &vec![10.0; links], links + 1, alpha, 1e-3);
            let wanted = libm::pow(links as f64, -1.0 / alpha);
            for short in &rates[1..] {
                let got = rates[0] / short;
                assert!(
                    (got / wanted - 1.0).abs() < 0.01,
                    "{links}, {alpha}: {got} for {wanted}"
                );
                assert!((rates[0] + short) / 10.0 > 0.949);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// HPCC-32, HPCC-39: on random networks, the rates meet the conditions of the α-fair optimum.
    /// Each link has one price for all its flows; the price is 0 if the link is not full. For each
    /// flow, rate^(−α) is the sum of the prices on its path.
    #[test]
    fn registers_are_the_prices_of_the_alpha_fair_optimum(
        (uses, capacity, start) in network(4, 6), alpha in prop::sample::select(&[1.0, 2.0][..]),
    ) {
        let flows = start.len();
        let (registers, rates) = alpha_fair(&uses, &capacity, flows, alpha, 1e-3);
        let load = loads(&uses, &rates);
        let mut price = vec![0.0; uses.len()];
        for i in 0..uses.len() {
            let on: Vec<f64> = (0..flows).filter(|j| uses[i][*j]).map(|j| registers[i][j]).collect();
            let Some(first) = on.first() else { continue };
            for register in &on {
                prop_assert!((register / first - 1.0).abs() < 0.01, "link {}: {:?}", i, on);
            }
            price[i] = libm::pow(*first, -alpha);
            let full = load[i] >= capacity[i] * 0.949;
            prop_assert!(full || *first > 1e3, "link {} at {} of {}: {}", i, load[i], capacity[i], first);
            prop_assert!(load[i] < capacity[i] * 0.97);
        }
        for j in 0..flows {
            let sum: f64 = (0..uses.len()).filter(|i| uses[*i][j]).map(|i| price[i]).sum();
            prop_assert!((libm::pow(rates[j], -alpha) / sum - 1.0).abs() < 0.03);
        }
    }
}
