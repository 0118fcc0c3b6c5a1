//! MRG32k3a, the random number generator of L'Ecuyer that ns-3 uses, with jumps from one stream to
//! the next.
//!
//! Sources: P. L'Ecuyer, *Good parameters and implementations for combined multiple recursive
//! random number generators*, 1999; R. Simard et al., *An object-oriented random-number package
//! with many long streams and substreams*, 2002.

const M1: u64 = 4_294_967_087;
const M2: u64 = 4_294_944_443;
/// The recurrences are x(n) = A12 · x(n-2) - A13 · x(n-3) mod M1 and y(n) = A21 · y(n-1) - A23 ·
/// y(n-3) mod M2.
const A12: u64 = 1_403_580;
const A13: u64 = 810_728;
const A21: u64 = 527_612;
const A23: u64 = 1_370_589;
/// 1 / (M1 + 1), with as many digits as in the publication.
const NORM: f64 = 2.328_306_549_295_728e-10;
/// Consecutive streams start 2^`STREAM_EXPONENT` numbers apart in the sequence of the generator,
/// and consecutive substreams of a stream 2^`SUBSTREAM_EXPONENT` numbers.
const STREAM_EXPONENT: u32 = 127;
const SUBSTREAM_EXPONENT: u32 = 76;

type Matrix = [[u64; 3]; 3];
type Vector = [u64; 3];

const STEP1: Matrix = [[0, 1, 0], [0, 0, 1], [M1 - A13, A12, 0]];
const STEP2: Matrix = [[0, 1, 0], [0, 0, 1], [M2 - A23, 0, A21]];
const IDENTITY: Matrix = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];

fn multiply(a: &Matrix, b: &Matrix, m: u64) -> Matrix {
    let mut c = [[0; 3]; 3];
    for (row, of_a) in c.iter_mut().zip(a) {
        for (j, cell) in row.iter_mut().enumerate() {
            *cell = of_a
                .iter()
                .zip(b)
                .fold(0, |sum, (x, of_b)| (sum + x * of_b[j] % m) % m);
        }
    }
    c
}

fn apply(a: &Matrix, v: &Vector, m: u64) -> Vector {
    a.map(|row| {
        row.iter()
            .zip(v)
            .fold(0, |sum, (x, y)| (sum + x * y % m) % m)
    })
}

/// Returns the matrix `a` to the power 2^`exponent`, modulo `m`.
fn square_repeatedly(a: &Matrix, exponent: u32, m: u64) -> Matrix {
    (0..exponent).fold(*a, |a, _| multiply(&a, &a, m))
}

fn power(a: &Matrix, mut exponent: u64, m: u64) -> Matrix {
    let (mut result, mut square) = (IDENTITY, *a);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = multiply(&result, &square, m);
        }
        square = multiply(&square, &square, m);
        exponent >>= 1;
    }
    result
}

/// Generator that returns the first number of each of many consecutive streams. // KER-10
///
/// The replayed ns-3 program creates a new random variable for every draw. Each variable uses the
/// next stream, and the program draws one number from this stream. The run number selects a
/// substream in each stream.
#[derive(Clone, Debug)]
pub struct StreamHeads {
    /// State at the start of the selected substream of the next stream.
    x: Vector,
    y: Vector,
    jump: (Matrix, Matrix),
}

impl StreamHeads {
    /// Creates a generator that starts at stream number `first`. In ns-3 the defaults of `seed` and
    /// `run` are 1.
    #[must_use]
    pub fn new(seed: u32, run: u64, first: u64) -> Self {
        let streams = |step, m| square_repeatedly(step, STREAM_EXPONENT, m);
        let jump = (streams(&STEP1, M1), streams(&STEP2, M2));
        let start = |step: &Matrix, jump: &Matrix, m: u64| {
            let substream = power(&square_repeatedly(step, SUBSTREAM_EXPONENT, m), run, m);
            let stream = power(jump, first, m);
            apply(&substream, &apply(&stream, &[u64::from(seed); 3], m), m)
        };
        Self {
            x: start(&STEP1, &jump.0, M1),
            y: start(&STEP2, &jump.1, M2),
            jump,
        }
    }

    /// Returns the first number, in (0, 1), of the next stream.
    pub fn next_unit(&mut self) -> f64 {
        let x = (A12 * self.x[1] + (M1 - A13) * self.x[0] % M1) % M1;
        let y = (A21 * self.y[2] + (M2 - A23) * self.y[0] % M2) % M2;
        self.x = apply(&self.jump.0, &self.x, M1);
        self.y = apply(&self.jump.1, &self.y, M2);
        let z = if x > y { x - y } else { x + M1 - y };
        z as f64 * NORM
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// KER-10: the jump matrices equal those in the authors' package. The test checks the first
    /// rows of A1p127 and A2p127 and the first cells of A1p76 and A2p76.
    #[test]
    fn jumps_are_the_published_ones() {
        let row = |step, exponent, m| square_repeatedly(step, exponent, m)[0];
        let streams = [row(&STEP1, 127, M1), row(&STEP2, 127, M2)];
        assert_eq!(streams[0], [2_427_906_178, 3_580_155_704, 949_770_784]);
        assert_eq!(streams[1], [1_464_411_153, 277_697_599, 1_610_723_613]);
        let substreams = [row(&STEP1, 76, M1)[0], row(&STEP2, 76, M2)[0]];
        assert_eq!(substreams, [82_758_667, 1_511_326_704]);
    }

    /// KER-10: with the package's default seed 12345 the first stream starts with this published
    /// number.
    #[test]
    fn the_first_number_is_the_published_one() {
        let first = StreamHeads::new(12345, 0, 0).next_unit();
        assert!((first - 0.127_011_122_046_577).abs() < 1e-14, "{first}");
    }

    /// KER-10: a jump over n streams and n jumps over one stream lead to the same state.
    #[test]
    fn streams_follow_each_other() {
        let mut stepped = StreamHeads::new(1, 1, 0);
        for _ in 0..37 {
            stepped.next_unit();
        }
        let mut jumped = StreamHeads::new(1, 1, 37);
        for _ in 0..5 {
            assert_eq!(stepped.next_unit().to_bits(), jumped.next_unit().to_bits());
        }
    }
}
