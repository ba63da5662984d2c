"""Command talk: a person takes the place of the simulated user, and talks to a saved policy in the terminal."""

import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace

from config.read.loader import RunConfig
from config.read.paths import as_written
from config.tell.language import tr
from envs.base import VectorEnv
from framework.assemble.identity import with_seed
from framework.collect.fragment import Episode, Recorder
from framework.commands.work.evaluate import new_file
from framework.disk.atomic import write_whole
from framework.errors import JoystickError
from framework.runs.model import opened
from framework.screen.formatting import listed
from framework.screen.stages import shown_on
from framework.screen.terminal import Screen, fitted

INTERRUPTED = 130
"""Exit status after Ctrl-C."""


def run(config: RunConfig, request: Namespace) -> int:
    """Plays one episode with a person. Returns the exit status."""
    record_file = new_file("--record", request.record, config)
    config = _of_one_episode(with_seed(config).of_evaluation())
    with opened(config) as model:
        member = model.env.member(0)
        env = getattr(member, "unwrapped", member)
        if not hasattr(env, "talk"):
            raise JoystickError(
                "{id} has nobody to talk to; talk is for general_cfg.env_name=dialog", id=model.agent.spec.id
            )
        _complete(env.talk(_asked, lambda text: print(fitted(text))))
        record = _Record(env.spoken)
        evaluator = model.evaluator(config, recorders=[record])
        status = 0
        try:
            with shown_on(Screen()):  # the terminal is that of the dialogue
                evaluation = evaluator.play(model.agent, 1)
            numbers = listed({"return": evaluation.mean, **evaluation.metrics()})
            print(fitted(f"{as_written(model.saved.path)}: {numbers}"))
        except KeyboardInterrupt:
            print()
            status, record.text = INTERRUPTED, env.spoken()
    if record_file is not None:
        write_whole(record_file, record.text.encode())
        print(tr("the dialogue is in {record}", record=request.record))
    return status


def _of_one_episode(config: RunConfig) -> RunConfig:
    """Returns the settings for a single row in this process, which waits for a person as long as it takes."""
    changes = {"vectorization": "sync"} if hasattr(config.env, "vectorization") else {}
    config = config.with_general(online_eval_episode=1, env_timeout=0.0)
    return replace(config, env=config.env.model_copy(update=changes))


class _Record(Recorder):
    """Keeps the text of the episode."""

    def __init__(self, spoken: Callable[[], str]) -> None:
        self.text, self._spoken = "", spoken

    def end(self, episode: Episode, env: VectorEnv) -> dict[str, float]:
        self.text = self._spoken()
        return {}


def _asked(prompt: str) -> str:
    """Returns a line from the terminal, or from the standard input, which is shown then."""
    try:
        line = input(prompt)
    except EOFError:
        print()  # the cursor is still behind the prompt
        raise
    if not sys.stdin.isatty():
        print(line)
    return line


def _complete(candidates: Callable[[str], list[str]]) -> None:
    """Completes words with the tab key, where Python has readline. candidates: of an unfinished line."""
    try:
        import readline
    except ImportError:
        return

    def complete(begun: str, number: int) -> str | None:
        words = candidates(readline.get_line_buffer()[: readline.get_endidx()])
        return f"{words[number]} " if number < len(words) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" ;")
    readline.parse_and_bind("tab: complete")
