"""Dynamic programs over arrays: chains, charts, fixed trees, head automata; numba kernels that know no strings."""
