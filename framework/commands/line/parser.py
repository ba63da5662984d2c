"""The parser of a word: its own flags and no others. A word that is not understood is answered with the nearest one."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, NoReturn

from config.program import PROGRAM, version
from config.read import arguments
from config.tell.cells import cells, wrapped
from config.tell.language import english, tr
from config.tell.names import did_you_mean, printable
from framework.commands.line import hints, settings, words

MOST_OWNERS = 3
"""Number of words that are named as those that have a flag."""


HEADINGS = english("positional arguments"), english("options")
HEADING = english("%(heading)s:")
"""A heading with its colon; argparse looks this up since Python 3.13."""
vars(argparse).update(_=tr)  # the name under which argparse looks its sentences up


class Lines(argparse.HelpFormatter):
    """Breaks lines by the cells of a terminal."""

    def format_help(self) -> str:
        """Returns the help. Before Python 3.13 argparse itself puts an English colon behind a heading."""
        text = super().format_help()
        for heading in map(tr, HEADINGS):
            text = text.replace(f"\n{heading}:\n", f"\n{tr(HEADING) % {'heading': heading}}\n")
        return text

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(text, width)

    def _format_usage(self, usage: str | None, actions: Any, groups: Any, prefix: str | None) -> str:
        """Returns the usage. argparse counts letters: it gets as many blanks as the prefix takes cells."""
        prefix = tr("usage: ") if prefix is None else prefix
        blanks = " " * cells(prefix)
        return prefix + super()._format_usage(usage, actions, groups, blanks).removeprefix(blanks)


class Paragraphs(Lines, argparse.RawDescriptionHelpFormatter):
    """The same, with descriptions whose lines stand as they are."""


class Version(argparse.Action):
    """Prints the version and exits; reads it only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(f"Joystick {version()}")
        parser.exit()


class Once(argparse.Action):
    """Stores a value; refuses a second one, which would replace the first without a word."""

    def __call__(self, parser: argparse.ArgumentParser, request: argparse.Namespace, value: Any, *_: Any) -> None:
        if getattr(request, self.dest) not in (None, ()):
            parser.error(tr("{flag} is given twice; give it once", flag=self.option_strings[0]))
        setattr(request, self.dest, value)


class Algorithm(Once):
    """Stores the name of an algorithm, and with --run that it is one of RLlib's."""

    def __call__(self, parser: argparse.ArgumentParser, request: argparse.Namespace, value: Any, *more: Any) -> None:
        super().__call__(parser, request, value)
        request.of_rllib = more == ("--run",)


class Parser(argparse.ArgumentParser):
    """argparse with the flags of a word, and with the nearest name in its error messages."""

    named = ""
    """Flag that the name of a run stands for: test or resume; empty for words without such a name."""

    def __init__(self, name: str, word: ModuleType) -> None:
        super().__init__(prog=f"{PROGRAM} {name}", allow_abbrev=False, formatter_class=Lines)
        self.name, self.word = name, word
        word.flags(self)

    def value(self, flag: str, metavar: str, text: str, kind: Callable[[str], Any] = arguments.text) -> None:
        """Adds a flag with a value, which can be given once. flag: perhaps with a second name."""
        self.add_argument(*flag.split(), metavar=metavar, type=kind, action=Once, help=text)

    def positional(self, name: str, metavar: str, text: str | None = None, **how: Any) -> None:
        """Adds a word without a flag. how: further arguments of add_argument, such as nargs."""
        self.add_argument(name, metavar=metavar, type=arguments.text, help=text, **how)

    def switch(self, flag: str, text: str) -> None:
        """Adds a flag without a value."""
        self.add_argument(flag, action="store_true", help=text)

    def format_help(self) -> str:
        if self.name == words.DEFAULT:
            self.epilog = words.help_text()  # which imports the files of all words
        return super().format_help()

    def format_usage(self) -> str:
        """Returns the usage behind the English word, which argparse itself cuts off by its length."""
        return super().format_usage().replace(tr("usage: "), "usage: ", 1)

    def error(self, *messages: str) -> NoReturn:
        program = PROGRAM if self.name == words.DEFAULT else self.prog
        self.exit(
            2,
            "".join(f"{printable(message)}\n" for message in (*messages, tr("See: {program} --help", program=program))),
        )

    def read(self, argv: Sequence[str]) -> argparse.Namespace:
        """Returns the request, unless a word is not understood."""
        request, unknown = self.parse_known_intermixed_args(argv)
        flags = [word for word in unknown if word.startswith("-") and not arguments.is_number(word)]
        if flags and (elsewhere := hints.of_command(argv[0])) and argv[0] in getattr(request, "overrides", ()):
            self.error(elsewhere)  # its flags are for another program
        if flags:
            self.error(*(self._unknown(flag, argv, request) for flag in dict.fromkeys(flags)))
        if unknown:
            self.error(tr("unexpected argument {word!r}", word=unknown[0]))
        return request

    def _unknown(self, flag: str, argv: Sequence[str], request: argparse.Namespace) -> str:
        """Returns a sentence about a flag that the word does not have: why, or who has it, or what to type instead."""
        name, _, value = flag.partition("=")
        after = argv[argv.index(flag) + 1 :] if flag in argv else []
        value = value or next((other for other in after[:1] if not other.startswith("--")), "VALUE")
        if self.named and request.overrides and name in ("--test", "--resume"):
            return tr(
                "{command} {name} names the run; leave out --test and --resume",
                command=self.name,
                name=request.overrides[0],
            )
        hint = hints.of_flag(name, value, getattr(request, "algo", None) or "DQN", self.named == "test")
        if (others := owners(name)) and "overrides" not in request:
            return tr("unknown flag {name}; it is for: {others}", name=name, others=others)
        if others:
            sentences = {**settings.OF_FILM, **getattr(self.word, "REFUSED", {})}
            sentence = next((sentences[flags] for flags in sentences if name in flags.split()), sentences.get("", ""))
            return sentence.replace("VALUE", value).replace("FLAG", name) or tr(
                "{name} is for: {others}{hint}", name=name, others=others, hint=hint
            )
        return tr(
            "unknown flag {flag}{hint}",
            flag=flag,
            hint=hint or did_you_mean(name, [flag for flag in self.own() if len(flag) > 2]),
        )

    def own(self) -> list[str]:
        """Returns the flags of the word, with both names of those that have two."""
        return [flag for action in self._actions for flag in action.option_strings]


def owners(flag: str) -> str:
    """Returns the commands that have a flag, as they are typed; empty if there are none."""
    have = [name for name in words.names() if flag in Parser(name, words.module(name)).own()]
    typed = [f"{PROGRAM} {words.usage(name)}" for name in have]
    if len(typed) > MOST_OWNERS:
        return tr("{commands}, and others", commands=", ".join(typed[:MOST_OWNERS]))
    return tr(", and ").join(typed)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Returns the request of a command line. Its `word` is empty for a training."""
    first = _behind_permissions(argv)
    name = next((word for word in argv[first : first + 1] if word in words.names()), None)
    remainder = [*argv[:first], *argv[first + (name is not None) :]]
    name = name or words.DEFAULT
    word = words.module(name)
    parser = Parser(name, word)
    if problem := hints.without_quotes(remainder):
        parser.error(problem)
    request = parser.read([*_with_seeds_joined(remainder)])
    request.word = "" if name == words.DEFAULT else name
    for problem in _problems(parser, request):
        parser.error(problem)
    return request


def _problems(parser: Parser, request: argparse.Namespace) -> Iterator[str]:
    """Yields what is wrong with a request; completes it on the way."""
    if parser.named:
        yield from settings.take_name(request, parser.named)
    if "overrides" in request:
        yield from hints.not_settings(request.overrides)
    yield from getattr(parser.word, "check", lambda request: ())(request)


def _behind_permissions(argv: Sequence[str]) -> int:
    """Returns the index of the first word that is not part of --allow-import."""
    place = 0
    while argv[place : place + 1] and argv[place].startswith("--allow-import"):
        place += 1 if "=" in argv[place] else 2
    return place


def _with_seeds_joined(argv: Sequence[str]) -> Iterator[str]:
    """Yields --seeds -1..2 as --seeds=-1..2; argparse would take -1..2 for a flag."""
    remainder = iter(argv)
    for word in remainder:
        following = next(remainder, None) if word == "--seeds" else None
        if following is None:
            yield word
        elif following[:1] == "-" and following[1:2].isdecimal():
            yield f"{word}={following}"
        else:
            yield from (word, following)
