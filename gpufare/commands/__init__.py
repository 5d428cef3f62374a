"""The commands, each loaded when it is called."""
