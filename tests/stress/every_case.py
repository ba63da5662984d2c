"""Tries all cases of the tests of which the suite tries one for each path of the code (tests/tools/paths.py), and
programs of the documentation at the length at which they are printed.

python -m tests.stress.every_case [WORD ...]

Words are those of pytest: a file in place of all, -k DroQ, -n 8. Without any, it takes a few minutes. The exit status
is that of pytest.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]


def modules(name: str = r"\w+") -> list[Path]:
    """Returns the modules of tests that choose among their cases. name: what they choose with."""
    chooses = re.compile(rf"^from tests\.tools\.paths import .*\b{name}\b", re.MULTILINE)
    return [path for path in sorted(TESTS.rglob("test_*.py")) if chooses.search(path.read_text(encoding="utf-8"))]


def run(words: list[str], more: dict[str, str], **how: bool) -> "subprocess.CompletedProcess[str]":
    """Runs pytest with these words and environment variables."""
    command = [sys.executable, "-m", "pytest", *words]
    return subprocess.run(command, cwd=TESTS.parent, env={**os.environ, **more}, check=False, text=True, **how)


def main() -> int:
    from tests.tools.paths import VARIABLE

    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    words, every = sys.argv[1:], {VARIABLE: "1"}
    where = [word for word in words if Path(word.partition("::")[0]).exists()]
    options = [word for word in words if word not in where]
    where = where or list(map(str, modules()))

    def cases(more: dict[str, str]) -> list[str]:
        collected = run([*where, "-n", "0", "--collect-only"], more, capture_output=True)
        return [line for line in collected.stdout.splitlines() if "::" in line]

    def counts(ids: list[str]) -> Counter[str]:
        return Counter(case.partition("[")[0] for case in ids)  # numbers in an id count what is tried

    all_cases, in_the_suite = cases(every), counts(cases({}))
    longer = {str(path.relative_to(TESTS.parent)) for path in modules("EVERY")}  # the same cases do more
    chosen = {name for name, count in counts(all_cases).items() if count > in_the_suite[name]}
    tried = [case for case in all_cases if case.partition("[")[0] in chosen or case.partition("::")[0] in longer]
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(f"{case}\n" for case in tried)
        file.flush()
        return run([*options, f"@{file.name}"], every).returncode


if __name__ == "__main__":
    sys.exit(main())
