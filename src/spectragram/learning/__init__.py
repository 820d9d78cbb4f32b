"""What the learners of several tasks share: packed counts, the EM driver, mixture weights, ensembles."""
