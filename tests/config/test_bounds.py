"""A setting keeps its bounds in a class that overrides its default, whatever type is written there."""

import inspect
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Gt, Le, Lt
from pydantic import BeforeValidator, Field, ValidationError

import algos
from config.model.fields import Fraction, Int, Positive, PositiveInt, Strict, lower
from config.model.schema import AlgoConfig
from config.read.loader import ConfigError
from tests.tools.config_fixtures import loaded

OUTSIDE = {
    Ge: lambda bound: bound.ge - 1,
    Gt: lambda bound: bound.gt,
    Le: lambda bound: bound.le + 1,
    Lt: lambda bound: bound.lt,
}


def outside(annotation: Any, metadata: list[Any]) -> list[Any]:
    """Returns a value beyond each bound of a type, and text for a choice."""
    kinds = [annotation, *getattr(annotation, "__args__", ())]
    bounds = [*metadata, *(each for kind in kinds for each in getattr(kind, "__metadata__", ()))]
    plain = [each for bound in bounds for each in getattr(bound, "metadata", [bound])]
    values = [OUTSIDE[type(bound)](bound) for bound in plain if type(bound) in OUTSIDE]
    return values + (["no such choice"] if "Literal" in str(annotation) else [])


OVERRIDDEN = [
    (algo, name)
    for algo in algos.available()
    for name, field in algos.get(algo).Config.model_fields.items()
    if any(name in inspect.get_annotations(cls) for cls in algos.get(algo).Config.__mro__[1:])
    and name in inspect.get_annotations(algos.get(algo).Config)
]


def first_type(model: type[AlgoConfig], name: str) -> Any:
    """Returns the field of the class that introduces it."""
    return [cls for cls in model.__mro__ if name in getattr(cls, "model_fields", {})][-1].model_fields[name]


@pytest.mark.parametrize(("algo", "name"), OVERRIDDEN)
def test_a_value_out_of_range_is_refused_where_a_default_is_overridden(algo: str, name: str) -> None:
    model = algos.get(algo).Config
    field = first_type(model, name)
    for value in outside(field.annotation, field.metadata):
        with pytest.raises(ValidationError) as error:
            model(**{name: value})
        assert [each["loc"][0] for each in error.value.errors()].count(name), value


def test_the_overridden_defaults_are_many_and_have_bounds() -> None:
    assert len(OVERRIDDEN) > 120
    bounded = [
        1
        for algo, name in OVERRIDDEN
        if outside((field := first_type(algos.get(algo).Config, name)).annotation, field.metadata)
    ]
    assert len(bounded) > 100


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


@pytest.mark.parametrize("model", [Family, Bare, Other, Below])
@pytest.mark.parametrize(("name", "value"), BEYOND.items())
def test_a_type_without_bounds_takes_those_of_the_family(model: type[Strict], name: str, value: Any) -> None:
    with pytest.raises(ValidationError, match=name):
        model(**{name: value})


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
