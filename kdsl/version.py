"""The version of kdsl, read by the build and by `kdsl --version`."""

__version__ = "0.1.0"
