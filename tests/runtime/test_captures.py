"""Which streams are captured, asked while other threads' captures end."""

from __future__ import annotations

from kdsl.captures import Captures


def test_a_capture_is_found_while_another_one_ends() -> None:
    captures = Captures()
    first, second = captures.begin(1, False), captures.begin(2, False)

    class Ending(int):
        """A handle: when it is compared, another thread ends the first capture."""

        def __eq__(self, other: object) -> bool:
            captures.end(first)
            return int(self) == other

        __hash__ = int.__hash__

    assert captures.find(Ending(2)) is second
    assert first not in captures and second in captures
    captures.end(second)
    captures.end(second)
    assert not captures
