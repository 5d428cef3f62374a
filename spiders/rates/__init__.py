"""Sources of exchange rates. They are read like providers but are none."""
