"""A setting keeps its bounds in a class that overrides its default, whatever type is written there."""

import inspect
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from annotated_types import Ge, Gt, Le, Lt
from pydantic import BeforeValidator, Field, ValidationError

import algos
from config.model.fields import Fraction, Int, Positive, PositiveInt, Strict, lower
from config.model.inherit import fixed, unread
from config.read.loader import ConfigError
from tests.tools.config_fixtures import loaded
from tests.tools.pages import ROOT, blocks

OUTSIDE = {
    Ge: lambda bound: bound.ge - 1,
    Gt: lambda bound: bound.gt,
    Le: lambda bound: bound.le + 1,
    Lt: lambda bound: bound.lt,
}


def outside(annotation: Any, metadata: list[Any]) -> list[Any]:
    """Returns a value beyond each bound of a type, a layer of no size, and text where none or a choice is expected."""
    kinds = [annotation, *getattr(annotation, "__args__", ())]
    bounds = [*metadata, *(each for kind in kinds for each in getattr(kind, "__metadata__", ()))]
    plain = [each for bound in bounds for each in getattr(bound, "metadata", [bound])]
    values = [OUTSIDE[type(bound)](bound) for bound in plain if type(bound) in OUTSIDE]
    layers = [[{"layer_type": "linear", "layer_size": [0]}]] if "Linear" in str(annotation) else []
    return values + layers + (["no such choice"] if str not in kinds or "Literal" in str(annotation) else [])


def overridden(model: type[Strict]) -> Iterator[str]:
    """Yields the settings whose default a class or one of its parents overrides."""
    for name in model.model_fields:
        if sum(name in inspect.get_annotations(cls) for cls in model.__mro__ if issubclass(cls, Strict)) > 1:
            yield name


def refuses(model: type[Strict], name: str) -> int:
    """Asserts that a setting refuses every value beyond the bounds of the class that introduces it, and any but its
    default if that is fixed. Returns their number."""
    first = [cls for cls in model.__mro__ if name in getattr(cls, "model_fields", {})][-1].model_fields[name]
    field = model.model_fields[name]
    values = outside(first.annotation, first.metadata)
    if get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1:
        values.append(not field.default if isinstance(field.default, bool) else "another value")
    for value in values:
        with pytest.raises(ValidationError) as error:
            model(**{name: value})
        assert [each["loc"][0] for each in error.value.errors()].count(name), value
    return len(values)


@pytest.mark.parametrize("algo", algos.available())
def test_a_value_out_of_range_is_refused_where_a_default_is_overridden(algo: str) -> None:
    for name in overridden(algos.get(algo).Config):
        refuses(algos.get(algo).Config, name)


def test_the_overridden_defaults_are_many_and_have_bounds() -> None:
    cases = [
        (algos.get(algo).Config, name) for algo in algos.available() for name in overridden(algos.get(algo).Config)
    ]
    assert len(cases) > 350
    assert [name for model, name in cases if not refuses(model, name)] == []


PAGES = ["algorithms.md", "tutorials/own_algorithm.md", "zh/tutorials/own_algorithm.md"]


@pytest.mark.parametrize("page", PAGES)
def test_the_algorithms_of_the_tutorials_refuse_a_value_out_of_range(page: str) -> None:
    codes = [block.text for block in blocks(ROOT / "docs" / page) if re.match(r"# mine/\w+/config.py", block.text)]
    assert codes
    for code in codes:
        names: dict[str, Any] = {"__name__": "mine.config"}
        exec(code, names)
        assert all(refuses(names["Config"], name) for name in overridden(names["Config"]))
        assert "n_step" not in code or refuses(names["Config"], "n_step") == 2, "0, and text"


class Family(Strict):
    count: PositiveInt = 1
    rate: Positive = 0.1
    share: Fraction = 0.5
    norm: Positive | None = None
    sizes: list[PositiveInt] = [1]
    clip: Annotated[float | None, Field(gt=0, lt=1)] = None
    when: PositiveInt | Literal["auto"] = "auto"
    kind: Annotated[Literal["a", "b"], BeforeValidator(lower)] = "a"


class Bare(Family):
    count: int = 3
    rate: float = 0.2
    share: float = 0.25
    norm: float | None = 0.5
    sizes: list[int] = [2]
    clip: float | None = 0.5
    when: int | Literal["auto"] = 4
    kind: Literal["a", "b"] = "b"


class Plain(Family):
    """A value alone has the type of the family."""

    count = 3
    rate = 0.2
    share = 0.25
    norm = 0.5
    sizes = [2]
    clip = 0.5
    when = 4
    kind = "b"


class Other(Family):
    count: Int = 3
    rate: int = 2
    norm: float = 0.5
    when: int = 4
    kind: Literal["b"] = "b"


class Below(Bare):
    count: int = 5


class Own(Family):
    """Bounds that are written are meant."""

    count: Annotated[Int, Field(ge=0)] = 0
    share: Annotated[float, Field(ge=0.25)] = 0.25


BEYOND = {"count": 0, "rate": 0, "share": 1.5, "norm": 0.0, "sizes": [0], "clip": 1.0, "when": 0, "kind": "c"}


@pytest.mark.parametrize("model", [Family, Bare, Plain, Other, Below])
@pytest.mark.parametrize(("name", "value"), BEYOND.items())
def test_a_type_without_bounds_takes_those_of_the_family(model: type[Strict], name: str, value: Any) -> None:
    with pytest.raises(ValidationError, match=name):
        model(**{name: value})


class Narrow(Plain):
    count = fixed(2)
    norm = fixed(None)
    kind = fixed("a")


def test_a_fixed_setting_has_one_value_in_all_its_spellings() -> None:
    assert Narrow() == Narrow(count=2.0, kind="A", norm=None)
    for name, value in (("count", 3), ("norm", 0.5), ("kind", "b")):
        with pytest.raises(ValidationError, match=name):
            Narrow(**{name: value})


class Tables(Strict):
    ALIASES = {"n": "count"}
    READ_WITH = {"rate": ("count", (1,))}
    count: int = 1
    rate: float = 0.1


class More(Tables):
    ALIASES = {"r": "rate"}
    READ_WITH = {"rate": unread("no counting")}


class Both(More, Family):
    pass


def test_a_class_adds_to_the_tables_of_its_parents_and_its_own_entries_count() -> None:
    assert Both.ALIASES == {"n": "count", "r": "rate"}
    assert (Tables.ALIASES, Strict.ALIASES) == ({"n": "count"}, {})
    assert [*Tables(count=2, rate=0.2).unread()] == [("rate", "count is 2")]
    assert [*Both(rate=0.2).unread()] == [("rate", "no counting")]


def test_values_within_the_bounds_are_read_as_before() -> None:
    assert (Bare().count, Below().count, Bare(count=1e2).count, Other(kind="B").kind) == (3, 5, 100, "b")
    assert (Bare(norm=None).norm, Bare(when="auto").when, Bare(kind="A").kind, Other(norm=1).norm) == (
        None,
        "auto",
        "a",
        1,
    )
    assert Other(norm=None).norm == 0.5, "null is the default of a field that accepts none"
    assert (Own(count=0).count, Own(share=2.0).share) == (0, 2.0)
    with pytest.raises(ValidationError, match="count"):
        Own(count=-1)


CONFIG = '''from algos.dqn.config import Config as Family


class Config(Family):
    """FastDQN: DQN that learns from longer returns."""

    n_step: int = 3
    lr: float = 1e-3
    max_grad_norm: float | None = 10.0
'''


@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_an_algorithm_of_ones_own_keeps_the_bounds(future: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """README: a setting out of range never trains."""
    home = f"bounds_{'text' if future else 'types'}"
    (tmp_path / home / "fastdqn").mkdir(parents=True)
    package = f"from {home}.fastdqn.config import Config\n\nNAME, ALIASES = 'FastDQN', ()\n"
    (tmp_path / home / "fastdqn" / "__init__.py").write_text(package)
    (tmp_path / home / "fastdqn" / "config.py").write_text(future + CONFIG)
    monkeypatch.syspath_prepend(tmp_path)
    name = f"general_cfg.algo_name={home}.fastdqn"
    config = loaded(None, name, allow_import=[home])
    assert (config.algo.n_step, config.algo.lr, config.algo.max_grad_norm) == (3, 1e-3, 10.0)
    wrong = ("algo_cfg.n_step=0", "algo_cfg.lr=-1", "algo_cfg.max_grad_norm=0")
    with pytest.raises(ConfigError) as refused:
        loaded(None, name, *wrong, allow_import=[home])
    for word in wrong:
        assert f"{word.partition('=')[0]}: got {word.partition('=')[2]}; expected a" in str(refused.value)
