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
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]


def modules() -> list[Path]:
    """Returns the modules of tests that choose among their cases."""
    chooses = re.compile(r"^from tests\.tools\.paths import ", re.MULTILINE)
    return [path for path in sorted(TESTS.rglob("test_*.py")) if chooses.search(path.read_text(encoding="utf-8"))]


def main() -> int:
    from tests.tools.paths import VARIABLE

    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    words = [sys.executable, "-m", "pytest", *sys.argv[1:]]
    if not any(Path(word.partition("::")[0]).exists() for word in sys.argv[1:]):
        words += map(str, modules())
    return subprocess.run(words, cwd=TESTS.parent, env={**os.environ, VARIABLE: "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
