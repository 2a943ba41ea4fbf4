"""More than one process or machine: Ray actors, each with its own copy of the model, answer batches."""
