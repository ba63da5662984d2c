"""Converts a file of another library: python main.py convert OLD.yaml > NEW.yaml, with a comment for each change."""

from collections.abc import Mapping

from config.foreign.dialect import ConversionError, OldFile
from config.foreign.dialects import DIALECTS
from config.model.fields import Strict
from config.read.finder import Finder
from config.read.loader import ConfigError
from config.read.opening import named
from config.read.yaml_reader import DocumentError, read
from config.tell import hints
from config.tell.language import tr

FLAGS = {
    "env": tr("{flag} is for a file with hyperparameters of rl-baselines3-zoo; leave it out"),
    "algo": tr("{flag} is for a file with hyperparameters of rl-baselines3-zoo; leave it out"),
    "name": tr("{value!r} would name one of several experiments of RLlib; leave it out"),
}
"""Word of the command -> what is said of it if a file does not take it."""


def converted(
    path: str,
    find_algo: Finder,
    find_env: Finder,
    *,
    name: str = "",
    algo: str | None = None,
    env: str | None = None,
) -> str:
    """Returns the text of the new file, with a comment for each change. name: of one of several experiments of RLlib.
    algo, env: flags, for hyperparameters of rl-baselines3-zoo."""

    def hint(section: str, key: str, models: Mapping[str, type[Strict]], algo: str) -> str:
        return hints.unknown_setting(section, key, models, find_algo, algo)

    try:
        document = read(path, named)
        dialect = next(dialect for dialect in DIALECTS if dialect.recognizes(document))
        for word, value in (("env", env), ("algo", algo), ("name", name)):
            if value and word not in dialect.flags(document):
                raise ConversionError(f"{path}: {FLAGS[word].format(flag=f'--{word}', value=value)}")
        return dialect.convert(OldFile(document, path, find_algo, find_env, hint, name, algo, env))
    except DocumentError as error:
        raise ConfigError(str(error)) from None
    except ConversionError as error:
        raise ConfigError(*error.args) from None
