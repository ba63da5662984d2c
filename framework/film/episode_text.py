"""Episodes as text, where an environment has no pictures: a file of their lines, and a page."""

from collections.abc import Sequence
from pathlib import Path

from config.tell.language import tr
from envs.base import VectorEnv
from framework.collect.episode_numbers import EpisodeNumbers
from framework.collect.fragment import Episode, Recorder
from framework.disk.atomic import write_whole
from framework.film.video import Film
from framework.pages import html_page
from framework.screen.formatting import counted, listed

SPEAKERS = ("system", "user")
"""Beginnings of lines that somebody says, up to a colon; the page shows the first one's to the left."""
_STYLE = """
.says{max-width:75%;width:fit-content;margin:.35em 0;padding:.45em .8em;border-radius:.8em;
  background:rgba(127,127,127,.15)}
.says.user{margin-left:auto;background:rgba(0,114,178,.22)}
"""


class Scribe(Recorder):
    """Writes the text of each episode of a one-row environment, in the place of a Camera."""

    full = False
    """Never True: a text takes as many episodes as are played."""

    def __init__(self, path: Path, numbers: Sequence[int]) -> None:
        """numbers: of the episodes."""
        self.path, self.numbers = path, numbers
        self.episodes: list[tuple[str, str]] = []
        """Heading and text of each episode."""

    def end(self, episode: Episode, env: VectorEnv) -> dict[str, float]:
        text = env.text()
        if text is not None:
            facts = listed({"return": episode.total, **EpisodeNumbers().end(episode, env)})
            head = tr("Episode {number} (seed {seed})", number=self.numbers[len(self.episodes)], seed=episode.seed)
            self.episodes.append((head, f"{facts}\n{text}"))
        return {}

    def close(self) -> Film:
        """Writes the file and the page."""
        if not self.episodes:
            return Film(None, 0, 0.0, tr("no text: the environment gave none"))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = "\n".join(f"{head}\n{speech}" for head, speech in self.episodes)
        write_whole(self.path, whole.encode())
        page = self.path.with_suffix(".html")
        body = "".join(html_page.section(head, lines(speech)) for head, speech in self.episodes)
        title = tr("Dialogues")
        write_whole(page, html_page.page(title, f"<h1>{title}</h1>{body}", style=_STYLE).encode())
        text = tr("text: {episodes}; as a page: {page}", episodes=counted(len(self.episodes), "episode"), page=page)
        return Film(self.path, len(self.episodes), 0.0, text)

    def abandon(self) -> None:
        """Writes nothing, in the place of `close`."""


def lines(text: str) -> str:
    """Returns the lines of an episode as HTML: those that somebody says as bubbles."""
    parts = []
    for line in text.splitlines():
        speaker, colon, words = line.partition(":")
        if colon and speaker in SPEAKERS:
            parts.append(f'<p class="says {speaker}">{html_page.text(words.strip())}</p>')
        elif line.strip():
            parts.append(html_page.paragraph(line, "quiet"))
    return "".join(parts)
