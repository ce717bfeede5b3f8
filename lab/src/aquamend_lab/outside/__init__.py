"""Problems that nobody here wrote: published Bayesian networks, textbook problems, robot tasks of others."""
