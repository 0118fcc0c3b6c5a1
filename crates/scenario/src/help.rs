//! Help of keys that take one of several words: made, when the crate is compiled, of what each word does.

/// Texts before a word, between the word and what it does, and after that.
const AROUND: [&str; 3] = ["`\"", "\"`: ", "; "];

/// Returns the number of bytes of [`help`] for these words.
pub(crate) const fn help_bytes(words: &[(&str, &str)]) -> usize {
    let around = AROUND[0].len() + AROUND[1].len() + AROUND[2].len();
    let (mut bytes, mut nth) = (0, 0);
    while nth < words.len() {
        bytes += around + words[nth].0.len() + words[nth].1.len();
        nth += 1;
    }
    // A full stop takes the place of the last semicolon and space.
    bytes - 1
}

/// Returns the help of a key as UTF-8: each of its words with what it does.
pub(crate) const fn help<const BYTES: usize>(words: &[(&str, &str)]) -> [u8; BYTES] {
    let mut help = [b'.'; BYTES];
    let (mut at, mut nth) = (0, 0);
    while nth < words.len() {
        let texts = [AROUND[0], words[nth].0, AROUND[1], words[nth].1, AROUND[2]];
        let mut text = 0;
        while text < texts.len() {
            let bytes = texts[text].as_bytes();
            let mut byte = 0;
            while byte < bytes.len() && at < BYTES - 1 {
                help[at] = bytes[byte];
                at += 1;
                byte += 1;
            }
            text += 1;
        }
        nth += 1;
    }
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_lists_all_words_and_ends_with_a_full_stop() {
        const WORDS: [(&str, &str); 2] = [("a", "does à"), ("bc", "does b")];
        let help: [u8; help_bytes(&WORDS)] = help(&WORDS);
        assert_eq!(
            std::str::from_utf8(&help),
            Ok("`\"a\"`: does à; `\"bc\"`: does b.")
        );
    }
}
