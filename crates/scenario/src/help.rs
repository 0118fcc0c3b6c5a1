//! Help texts of keys whose value is one of several words.

/// Returns the help text of a key: each of its words with its meaning.
pub(crate) fn help<'a>(words: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let each: Vec<_> = words
        .map(|(word, about)| format!("`\"{word}\"`: {about}"))
        .collect();
    each.join("; ") + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_lists_all_words_and_ends_with_a_full_stop() {
        let words = [("a", "does à"), ("bc", "does b")];
        assert_eq!(
            help(words.into_iter()),
            "`\"a\"`: does à; `\"bc\"`: does b."
        );
    }
}
