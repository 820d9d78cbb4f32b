"""What the learners of several tasks share.

em            the driver of EM
mixtures      weights of linear mixtures
ensembles     members of an ensemble on the cores there are
words         estimates for frequent, rare and unknown words by back-off; ``word_cells`` counts them
views         features to scaled matrices to projections, label by label
states        clusters of projections to hidden states
counts        counts of tuples of ids as sorted keys
factors       log-linear models with hashed features
"""
