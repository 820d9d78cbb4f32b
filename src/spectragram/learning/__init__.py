"""What the learners of several tasks share.

counts        packed counts of tuples of ids
words         estimates for frequent, rare and unknown words by back-off; ``word_cells`` counts them
views         features to scaled matrices to projections, label by label
states        clusters of projections to hidden states
em            the driver of EM
mixtures      weights of linear mixtures
ensembles     members of an ensemble on the cores there are
factors       hashed log-linear weights and their trainer
"""
