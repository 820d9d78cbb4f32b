"""Hostile input for every command: mutated data of every format, and mutated model files whose checksums fit.

python -m tests.fuzz --cases 1000 --seed 0 --jobs 2          counts by kind and verdict; status 1 if anything failed
python -m tests.fuzz --seed 0 --only 4711                     one case again, with what it printed

A case is a number: together with the seed it decides what is mutated, how, and which command is run. Commands run
inside worker processes, so that crashes, hangs and hunger for memory are caught and attributed.
"""
