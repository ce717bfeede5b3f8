"""Where sessions are kept: what any log promises, one in memory, and the journal, a file that survives crashes."""
