"""Our `dataclass` beside the standard library's: the same classes, the same answers."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from kdsl import records


def shapes(dataclass: Any) -> dict[str, Any]:
    """Every way in which kdsl uses it."""

    @dataclass(frozen=True, slots=True)
    class Point:
        """A place."""

        x: int
        y: int = 2

        def sum(self) -> int:
            return self.x + self.y

    @dataclass(frozen=True, slots=True)
    class Empty:
        pass

    @dataclass(frozen=True)
    class Held:
        value: Any = dataclasses.field(default=None, compare=False, repr=False)
        key: int = 0

    @dataclass(slots=True)
    class Grown:
        names: list[str] = dataclasses.field(default_factory=list)

    @dataclass(slots=True)
    class Base:
        a: int

    @dataclass(slots=True)
    class Derived(Base):
        b: int = 3

    @dataclass(frozen=True, slots=True, eq=False)
    class Identity:
        x: int

    @dataclass
    class Plain:
        x: int
        also: dict[str, int] = dataclasses.field(default_factory=dict)

    @dataclass(frozen=True, eq=False, repr=False)
    class Named:
        x: int

        def __repr__(self) -> str:
            return f"<{self.x}>"

    return {name: kind for name, kind in locals().items() if isinstance(kind, type)}


STANDARD, OURS = shapes(dataclasses.dataclass), shapes(records.dataclass)


def outcome(act: Any) -> Any:
    """What a call gives, or which error with which text it raises."""
    try:
        return act()
    except Exception as error:
        return type(error), str(error)


MAKE: dict[str, list[tuple[Any, ...]]] = {
    "Point": [(1,), (1, 2), (2, 1), (), (1, 2, 3)],
    "Empty": [(), (1,)],
    "Held": [(), (1,), (2,), (1, 1)],
    "Grown": [(), (["a"],)],
    "Derived": [(1,), (1, 4), ()],
    "Identity": [(1,)],
    "Plain": [(1,), (1, {"a": 1})],
    "Named": [(1,)],
}


@pytest.mark.parametrize(("name", "args"), [(name, args) for name, each in MAKE.items() for args in each])
def test_objects(name: str, args: tuple[Any, ...]) -> None:
    def answers(kind: Any) -> list[object]:
        made = outcome(lambda: kind(*args))
        if isinstance(made, tuple):
            return [made]
        twin, copied = kind(*args), copy.deepcopy(made)
        # The standard one's own error is wrong for a slotted class and a name that is no field's.
        changes = [
            change
            for f in dataclasses.fields(made)[:1]
            for change in (lambda: setattr(made, f.name, 5), lambda: delattr(made, f.name))
        ]
        return [
            repr(made),
            made == twin,
            made == copied,
            made == object(),
            isinstance(outcome(lambda: hash(made)), int) and (hash(made) == hash(twin)),
            hasattr(made, "__dict__"),
            kind.__match_args__,
            [f.name for f in dataclasses.fields(made)],
            repr(dataclasses.replace(made)),
            repr(copied),
            [outcome(change) for change in changes],
            outcome(lambda: setattr(made, "other", 5)) is None,
            kind.__name__,
            kind.__qualname__,
            kind.__module__,
        ]

    assert answers(OURS[name]) == answers(STANDARD[name])


def test_post_init_is_refused() -> None:
    """Also an inherited one: it would not be run."""

    class Checked:
        def __post_init__(self) -> None:
            raise AssertionError

    for base in (Checked, type("Derived", (Checked,), {})):
        with pytest.raises(TypeError, match=f"{base.__name__} has a __post_init__, which is not run: use dataclasses"):
            records.dataclass(base)


def test_equality_asks_all_compared_fields() -> None:
    for kinds in (STANDARD, OURS):
        point, held = kinds["Point"], kinds["Held"]
        assert point(1) == point(1, 2)
        assert point(1) != point(2)
        assert point(x=4, y=5).sum() == 9
        assert held(1) == held(2) != held(2, 1)
        assert len({point(1), point(1, 2), point(2)}) == 2
        assert kinds["Base"](1) != kinds["Derived"](1)
        assert kinds["Identity"](1) != kinds["Identity"](1)
        assert kinds["Grown"]().names is not kinds["Grown"]().names


@records.dataclass(frozen=True, slots=True)
class Pickled:
    x: int
    y: tuple[int, ...] = ()


def test_what_holds_itself_is_shown() -> None:
    for kinds in (STANDARD, OURS):
        grown = kinds["Grown"]()
        grown.names.append(grown)
        assert repr(grown) == "shapes.<locals>.Grown(names=[...])"


def test_pickles() -> None:
    assert pickle.loads(pickle.dumps(Pickled(1, (2, 3)))) == Pickled(1, (2, 3))


def test_init_has_its_signature_once_an_object_was_made() -> None:
    with pytest.raises(TypeError, match=r"__init__\(\) got an unexpected keyword argument 'z'"):
        Pickled(x=1, z=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"__init__\(\) missing 1 required positional argument: 'x'"):
        Pickled()  # type: ignore[call-arg]
