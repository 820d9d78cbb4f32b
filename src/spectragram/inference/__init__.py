"""Dynamic programs over arrays: chains, charts, fixed trees, head automata; numba kernels without any strings."""
