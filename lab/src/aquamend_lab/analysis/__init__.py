"""From the records of a run to statistics, tables, figures and a page: nothing here runs a policy."""
