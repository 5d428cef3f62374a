"""Shapes of answers that three providers or more have in common. Each docstring says which attributes to set."""
