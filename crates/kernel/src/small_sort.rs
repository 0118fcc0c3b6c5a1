//! A sort of at most eight values without unpredictable branches.

/// Maximum number of values that [`order_few`] accepts.
pub const FEW: usize = 8;

/// Sorts at most [`FEW`] values by ascending key. The sort is stable.
///
/// The position of a value is the number of values that sort before it. This count needs no
/// branches, whereas a processor cannot predict the comparisons of a usual sort.
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
    fn the_order_equals_that_of_a_stable_sort() {
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
