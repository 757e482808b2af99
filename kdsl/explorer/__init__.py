"""Views of one Compilation. None has a pipeline of its own."""
