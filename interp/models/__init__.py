"""Models: where weights come from, the port that every backend obeys, and the backends."""
