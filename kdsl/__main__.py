"""``python -m kdsl`` is the `kdsl` command."""

from kdsl.cli import main

main(prog_name="kdsl")
