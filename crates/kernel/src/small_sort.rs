//! Sorts at most eight values without unpredictable branches.

/// The most values that [`order_few`] takes.
pub const FEW: usize = 8;

/// Puts at most [`FEW`] values into ascending order of their keys, equal ones in the order in which they
/// stand: it counts for each how many come before it. A processor cannot predict how two of them compare,
/// and a count needs no prediction.
#[inline]
pub fn order_few<T: Copy, K: Copy + Ord>(values: &mut [T], key: impl Fn(T) -> K) {
    let Some(&first) = values.first() else {
        return;
    };
    let mut all = [(first, key(first), 0); FEW];
    let all = &mut all[..values.len()];
    for (of, &value) in all.iter_mut().zip(&*values) {
        *of = (value, key(value), 0);
    }
    for later in 1..all.len() {
        let key = all[later].1;
        let mut before = 0;
        for earlier in &mut all[..later] {
            let follows = usize::from(key < earlier.1);
            earlier.2 += follows;
            before += 1 - follows;
        }
        all[later].2 = before;
    }
    for &(value, _, place) in &*all {
        values[place] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::random::{Purpose, Stream};

    #[test]
    fn the_order_is_that_of_a_stable_sort() {
        let mut random = Stream::new(1, 0, Purpose::Test);
        for _ in 0..2_000 {
            let len = random.below(FEW as u64 + 1);
            let mut values: Vec<(u64, u64)> = (0..len).map(|at| (random.below(5), at)).collect();
            let mut sorted = values.clone();
            sorted.sort_by_key(|value| value.0);
            order_few(&mut values, |value| value.0);
            assert_eq!(values, sorted);
        }
    }
}
