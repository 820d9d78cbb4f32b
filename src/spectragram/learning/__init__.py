"""What the learners of several tasks share: the EM driver, mixture weights, ensembles."""
