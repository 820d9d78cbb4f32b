"""From words, or raw text, to whole CoNLL-U sentences: what the task folders learn, put together."""
