"""Translations of values that several libraries write alike: switches, names, rates, layers. Those with arguments are
for rows of tables."""

from typing import Any

from config.foreign.cases import Meaning, NoCounterpartError
from config.foreign.table import Scope, Translation
from config.tell.language import tr

Settings = dict[str, Any]


def switch(value: Any) -> bool:
    """Reads true and false alone."""
    if not isinstance(value, bool):
        raise NoCounterpartError("expected true or false")
    return value


def switched(setting: str, on: str, off: str) -> Translation:
    """Returns a translation of true and false into two values of a setting."""

    def translate(value: Any, scope: Scope) -> Meaning:
        chosen = on if switch(value) else off
        return Meaning({scope.algo(setting)[0]: chosen})

    return translate


def named(setting: str, *pairs: str) -> Translation:
    """Returns a translation of the names of a setting's values. pairs: theirs=ours."""
    names = dict(pair.split("=") for pair in pairs)
    return lambda value, scope: Meaning({scope.algo(setting)[0]: names.get(str(value), value)})


def class_name(value: Any) -> str:
    """Returns the name of a class without its modules."""
    return str(value).rpartition(".")[2]


def lower_class(value: Any) -> str:
    return class_name(value).lower()


def nothing(value: Any, scope: Scope) -> Meaning:
    """Translates a word that another one takes in, which says so."""
    return Meaning({})


def rates(scope: Scope, *more: str) -> list[str]:
    """Returns the settings that a learning rate sets: lr is for all networks where there is one. more: those of other
    networks than actor and critic."""
    return scope.algo("lr") if scope.has("algo_cfg.lr") else scope.algo("actor_lr", "critic_lr", *more)


def linear(size: Any, activation: Any) -> Settings:
    """Returns linear layers. size: their width, or a list with the width of each."""
    return {"layer_type": "linear", "layer_size": size, "activation": activation}


def hidden(*lists: str) -> Translation:
    """Returns a translation of the width of two hidden layers into these lists of layers."""

    def translate(value: Any, scope: Scope) -> Meaning:
        paths = scope.paths(*lists)
        free = [path for path in paths if path.partition(".")[2] not in scope.written("algo_cfg")]
        if not free:
            return Meaning({}, tr("layers are written") if paths else tr("the algorithm has no such network"))
        return Meaning({path: [linear([value, value], "relu")] for path in free})

    return translate
