"""The dialects, in the order in which a file is recognized: what is none of the others is a file of JoyRL."""

from typing import Any

from config.foreign import convlab, joyrl, joyrl_settings, rllib, rllib_files, rllib_multiagent, zoo
from config.foreign.dialect import Dialect
from config.read.sources import Source
from config.read.yaml_reader import Document

DIALECTS = (
    Dialect(
        "rl-baselines3-zoo",
        recognizes=zoo.understands,
        convert=zoo.converted,
        flags=lambda document: ("algo", "env"),
    ),
    Dialect(
        "RLlib",
        of_flags=rllib.of_flags,
        put_flags=rllib.put_flags,
        put_policies=rllib_multiagent.put_policies,
        present_id=lambda name, kind: rllib.present_id(name, kind)[0],
        put_env=rllib.put_present_env,
        translate=rllib.translate,
        translate_policies=rllib_multiagent.translate,
        experiments=rllib_files.experiments,
        take_repeats=rllib_files.take_repeats,
        settings=lambda document: rllib.from_settings(document) if rllib_files.is_config(document) else None,
        recognizes=rllib_files.understands,
        convert=rllib_files.converted,
        flags=lambda document: ("name",) if rllib_files.experiments(document) else (),
    ),
    Dialect(
        "ConvLab-2",
        of_policy=convlab.of_policy,
        recognizes=lambda document: convlab.kind_of(document.value) is not None,
        convert=convlab.converted,
    ),
    Dialect(
        "JoyRL",
        rewrite=joyrl_settings.rewrite,
        translate=joyrl_settings.put_words,
        hint=joyrl.hint,
        keys=lambda section: joyrl.KEYS.get(section, {}),
        recognizes=lambda document: True,
        convert=joyrl_settings.converted,
    ),
)


def experiments(document: Document) -> dict[str, Source]:
    """Returns the settings of each experiment of a file by its name; none for a file that has no experiments."""
    return next(filter(None, (dialect.experiments(document) for dialect in DIALECTS)), {})


def of_policy(config: Any, algo: str) -> Source:
    """Returns the settings of a file, or a mapping, that a program gives to a policy of another library. algo: our name
    of its algorithm."""
    return next(filter(None, (dialect.of_policy(config, algo) for dialect in DIALECTS)))
