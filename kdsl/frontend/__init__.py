"""From a Python function to the typed tree."""
