"""From raw text to CoNLL-U: sentences, tokens, words, and what other tasks say about them."""
