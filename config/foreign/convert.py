"""Converts a file of another library: python main.py convert OLD.yaml > NEW.yaml, with a comment for each change."""

import yaml

from config.foreign import convlab, rllib_convert, zoo
from config.foreign import names as foreign_names
from config.foreign.experiments import experiments
from config.foreign.joyrl_settings import DEFAULT, LOST, NEEDLESS, UNREAD, Omission, Rewriting
from config.model import policies
from config.read import sources
from config.read.finder import Finder
from config.read.loader import ConfigError
from config.read.opening import named
from config.read.run_config import SECTIONS
from config.read.yaml_reader import Document, DocumentError, Dumper, read
from config.tell.error_text import shown
from config.tell.names import printable

HEADINGS = {
    LOST: "Not converted; look for a setting that does the same:",
    NEEDLESS: "Left out, since nothing is needed here:",
    UNREAD: "Left out, since the algorithm does not read it:",
}


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
    try:
        document = read(path, named)
    except DocumentError as error:
        raise ConfigError([str(error)]) from None
    of_zoo, of_rllib = zoo.understands(document), rllib_convert.understands(document)
    if not of_zoo and (flag := next((flag for flag, value in (("--env", env), ("--algo", algo)) if value), "")):
        raise ConfigError([f"{path}: {flag} is for a file with hyperparameters of rl-baselines3-zoo; leave it out"])
    if name and not experiments(document):
        raise ConfigError([f"{path}: {name!r} would name one of several experiments of RLlib; leave it out"])
    if of_zoo:
        return zoo.converted(document, algo, env, find_algo, find_env)
    if of_rllib:
        return rllib_convert.converted(document, find_algo, find_env, name)
    if kind := convlab.kind_of(document.value):
        return _of_convlab(convlab.from_document(document, kind), convlab.POLICIES.get(kind, ""))
    return _of_joyrl(document, path, find_algo, find_env)


def _of_convlab(source: sources.Source, algo: str) -> str:
    """Returns the settings of a config.json of ConvLab-2 as a file: those of the algorithm, for dialogues."""
    if source.problems:
        raise ConfigError(source.problems)
    notes = "".join(f"# {printable(note)}\n" for note in source.notes)
    sections = {"general_cfg": {"algo_name": algo, "env_name": "dialog"}, **source.sections}
    return notes + yaml.dump(sections, Dumper=Dumper, sort_keys=False, allow_unicode=True)


def _of_joyrl(document: Document, path: str, find_algo: Finder, find_env: Finder) -> str:
    """Returns the settings of a file of JoyRL. Keys without a counterpart become comments at the top."""
    value = document.value
    if not isinstance(value, dict):
        raise ConfigError([f"{path}: got {shown(value)}; expected the sections {', '.join(SECTIONS)}"])
    if not any(name in value for name in SECTIONS):
        message = f"has none of the sections {', '.join(SECTIONS)}: it is not a file of JoyRL"
        raise ConfigError([f"{path}: {message}{foreign_names.origin(value, path)}"])
    if wrong := [name for name in SECTIONS if not isinstance(value.get(name) or {}, dict)]:
        raise ConfigError([f"{path}: {name}: expected lines of the form name: value" for name in wrong])
    work = Rewriting(sources.from_document(document, written=True), find_algo, find_env).run()
    if work.new["general_cfg"].get("load_checkpoint") is not True and policies.SECTION not in value:
        for key, usual in work.defaults().sections.get("algo_cfg", {}).items():
            work.put("algo_cfg", key, usual, DEFAULT)
    if work.algo is None:
        work.omit(LOST, "general_cfg", "algo_name", work.name, "there is no such algorithm here")
    for key in value:
        if key not in (*SECTIONS, policies.SECTION):
            work.omit(LOST, "", str(key), value[key], f"the sections are {', '.join(SECTIONS)}")
    kept = {key: value[key] for key in value if key == policies.SECTION}
    return text(work) + (yaml.dump(kept, Dumper=Dumper, sort_keys=False, allow_unicode=True) if kept else "")


def text(work: Rewriting) -> str:
    """Returns rewritten settings as a file, with a comment for each change."""
    lines = []
    for kind, heading in HEADINGS.items():
        omitted = [_line(part) for part in work.omitted if part.kind == kind]
        lines += [f"# {heading}\n", *(f"#   {printable(line)}\n" for line in omitted)] if omitted else []
    for section, settings in work.new.items():
        if not settings:
            continue
        lines.append(f"{section}:\n")
        for key, value in settings.items():
            comment = work.comments.get((section, key))
            flow = yaml.dump({key: value}, Dumper=Dumper, default_flow_style=True, sort_keys=False, width=10_000)
            lines.append(f"  {flow.strip()[1:-1]}" + (f"  # {printable(comment)}" if comment else "") + "\n")
    return "".join(lines)


def _line(part: Omission) -> str:
    path = f"{part.section}.{part.key}".lstrip(".")
    return f"{path}: {shown(part.value).removesuffix(' (text)')} ({part.why})"
