"""Tasks: questions with gold answers, how they are asked by default, and how answers are read."""
