"""One page about one or more runs, as HTML and Markdown with figures, made from their records alone."""
