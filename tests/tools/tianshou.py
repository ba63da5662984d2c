"""Runs Tianshou's own tests against the data layer: python -m tests.tools.tianshou FOLDER

FOLDER is test/base of a checkout of Tianshou 0.5. Every statement of a test function runs on its own, so that one that
fails does not hide the next; an assertion in a loop passes if it never fails. What docs/tianshou.md says to write in
place of its words is written: names of methods, lists of environments, `fill=0` of Batch.cat. DIFFERENT lists
what is different on purpose, and why.
"""

import argparse
import ast
import contextlib
import copy
import io
import logging
import os
import re
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import joystick.tianshou
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict

import joystick

FILES = ("test_returns.py", "test_batch.py", "test_buffer.py", "test_collector.py")

DIFFERENT = [
    (
        "test_batch",
        r"torch\.zeros\(\(3, 3\)\)\]|np\.zeros\(\(3, [23]\)\).*\]",
        "a list of several shapes is an array of objects",
    ),
    ("test_batch", r"np\.array\(\[g1, g2\]\)", "numpy 2 itself refuses to make this array"),
    ("test_batch_over_batch", r"\[:, -1\] = 1|\[-1, 3\]", "rows of a Batch may be set to a number"),
    ("test_batch_over_batch_to_torch", r"__dict__|\.e\b", "the keys of a Batch are not its __dict__"),
    (".*", r"\b(_alpha|_index|_indices|_meta)\b", "an internal attribute"),
    (".*", r"sample(_indices)?\(-1\)", "a negative number of samples is an error"),
    ("test_stack", r"indices\.tolist\(\) == \[\]", "a negative number of samples is an error"),
    ("test_replaybuffer", r"shape == \(1,\)", "add() of one transition gives numbers, not arrays of one"),
    ("test_ignore_obs_next", r"info\['if'\], np", "info is not stacked"),
    (
        "test_update|test_replaybuffermanager",
        r"NotImplementedError",
        "a buffer of several parts says so with a DataError",
    ),
    ("test_hdf5", r"to_hdf5", "a buffer is saved as npz, where objects are pickled"),
    (
        "test_replaybuffermanager|test_multibuf.*",
        r"set_batch|\.buffers\b|buf\.stack_num = 2",
        "parts of a buffer are no buffers of their own",
    ),
    (".*", r"ReplayBuffer\(0", "a buffer has room for a transition at least"),
    (
        "test_cachedbuffer",
        r"rew=rew|-1, 11|0, 2, 0, 2|data \+ 2|buf\.done, \[0, 0, 1|10, 11|10, 10|11, 11",
        "follows from ReplayBuffer(0)",
    ),
    ("test_multibuf_hdf5", r"_buffers\[k\]\.act", "a file holds what is stored, not what lies in free places"),
    ("test_herreplaybuffer.*", "", "hindsight is part of an algorithm: DDPG_HER, SAC_HER"),
    ("test_segtree", "", "the sum tree is inside PrioritizedReplayBuffer"),
    (
        "test_collector",
        r"info\['rew'\]",
        "there is no preprocess_fn: a wrapper of the environment, or process_fn, does its work",
    ),
    (
        "test_collector",
        r"ReplayBuffer\(10",
        "a plain buffer takes several environments: episodes are stored when they end",
    ),
    ("test_collector", r"c2\.collect\(\)", "a call without a number is a JoystickError"),
    ("test_collector", r"\bc3\b", "an environment needs spaces"),
    ("test_collector_with_async", "", "a run collects in several processes (mp_backend: ray)"),
    ("test_collector_with_dict_state", r"envs\.|obs\[0\]", "environments side by side are a list"),
    ("test_collector_with_ma", "", "a reward is a number; several agents are trained in a run (policies_cfg)"),
    ("test_collector_envpool.*", "", "needs EnvPool, which is not installed"),
    (".*", r"pytest\.raises\(AssertionError", "a wrong key or size is a TypeError or a ValueError with a sentence"),
]
"""Test function, regular expression for the text of a statement, and why it is different here on purpose."""


@dataclass
class Check:
    """A statement of a test function, and what became of it."""

    file: str
    function: str
    line: int
    text: str
    asserts: bool
    """True for an assertion, and for a statement that expects an exception."""
    outer: "Check | None"
    """The loop or branch that it stands in."""
    passes: int = 0
    faults: list[str] = field(default_factory=list)
    """Messages of its exceptions."""

    @property
    def failed(self) -> bool:
        """True if it ever failed, or was not reached because what it stands in failed."""
        unreached = not self.passes and self.outer is not None and self.outer.failed
        return bool(self.faults) or unreached

    @property
    def reason(self) -> str | None:
        """Reason of a failure on purpose; None if it should pass."""
        for function, text, why in DIFFERENT:
            if re.fullmatch(function, self.function) and re.search(text, self.text, re.DOTALL):
                return why
        return None


class Separated(ast.NodeTransformer):
    """Puts each statement of the test functions into a `try` that tells what became of it."""

    def __init__(self, file: str) -> None:
        self.file, self.checks = file, list[Check]()

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name.startswith("test_"):
            self.function = node.name
            node.body = self._all(node.body, None)
            node.decorator_list = []
            given = len(node.args.args) - len(node.args.defaults)
            node.args.defaults = [ast.Constant(None)] * given + node.args.defaults
        return node

    def _all(self, body: list[ast.stmt], outer: Check | None) -> list[ast.stmt]:
        return [self._alone(statement, outer) for statement in body]

    def _alone(self, statement: ast.stmt, outer: Check | None) -> ast.stmt:
        if isinstance(statement, ast.FunctionDef | ast.Return | ast.Break | ast.Continue | ast.Pass):
            return statement
        text = ast.unparse(statement)
        raises = isinstance(statement, ast.With) and "pytest.raises" in text.split("\n")[0]
        check = Check(
            self.file, self.function, statement.lineno, text, raises or isinstance(statement, ast.Assert), outer
        )
        number = len(self.checks)
        self.checks.append(check)
        if isinstance(statement, ast.For | ast.If | ast.With) and not raises:
            statement.body = self._all(statement.body, check)
            if not isinstance(statement, ast.With):
                statement.orelse = self._all(statement.orelse, check)
        told = ast.parse(
            f"try: pass\nexcept (Exception, _Missing) as _error: _failed({number}, _error)\nelse: _passed({number})"
        )
        attempt = told.body[0]
        assert isinstance(attempt, ast.Try)
        attempt.body = [statement]
        return attempt


class Renamed(ast.NodeTransformer):
    """Writes what docs/tianshou.md says in place of Tianshou's words."""

    NAMES = {"save_hdf5": "save", "load_hdf5": "load"}
    """Method there -> method here."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        called = node.value.func if isinstance(node.value, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in ("to_torch", "to_numpy"):
            called.attr += "_"  # as a statement it was in place, up to version 0.5
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute):
            if node.func.attr == "load_hdf5":
                node.keywords.append(ast.keyword("allow_pickle", ast.Constant(True)))
            if ast.unparse(node.func) == "Batch.cat" or node.func.attr == "cat_":
                node.keywords.append(ast.keyword("fill", ast.Constant(0)))
            node.func.attr = self.NAMES.get(node.func.attr, node.func.attr)
        return node


# Tianshou's modules ---------------------------------------------------------------------------------------


class BasePolicy(joystick.Policy):
    """joystick.Policy with Tianshou's functions for returns."""

    @staticmethod
    def compute_episodic_return(
        batch: Any, buffer: Any, indices: Any, v_s_: Any = None, v_s: Any = None, gamma: Any = 0.99,
        gae_lambda: Any = 0.95,
    ) -> Any:  # fmt: skip
        """Returns the returns and the advantages."""
        after = np.zeros(len(indices)) if v_s_ is None else np.asarray(v_s_, float).reshape(-1)
        before = np.roll(after, 1) if v_s is None else np.asarray(v_s, float)
        advantage, returns = joystick.gae_returns(buffer, indices, before, after, gamma, gae_lambda)
        return returns, advantage

    @staticmethod
    def compute_nstep_return(
        batch: Any, buffer: Any, indices: Any, target_q_fn: Any, gamma: Any = 0.99, n_step: int = 1
    ) -> Any:
        """Returns the batch with its returns."""
        batch.returns = joystick.nstep_returns(buffer, indices, target_q_fn, n_step, gamma)
        return batch


class Collector(joystick.Collector):
    """joystick.Collector with the arguments of Tianshou's, and with infos. What has no counterpart is ignored."""

    def __init__(self, policy: Any, env: Any, buffer: Any = None, preprocess_fn: Any = None, **more: Any) -> None:
        space = (env[0] if isinstance(env, list) else env).observation_space
        super().__init__(policy, env, buffer, store_info=True, dict_obs=isinstance(space, Dict))

    def collect(self, *args: Any, gym_reset_kwargs: Any = None, **kwargs: Any) -> Any:
        return super().collect(*args, **kwargs)

    def reset_env(self, gym_reset_kwargs: Any = None) -> None:
        super().reset_env()


def environments(functions: Any, **more: Any) -> list[Any]:
    """Returns what a vector environment of Tianshou is here: a list of environments."""
    return [function() for function in functions]


def wide(space: Any, name: str = "") -> Any:
    """Returns a space that all environments of a list share: the index of a place is at most 99."""
    if hasattr(space, "spaces") and isinstance(space.spaces, dict):
        for key, part in space.spaces.items():
            space.spaces[key] = wide(part, key)
    elif isinstance(space, Box) and space.shape == (1,) and name in ("", "index"):
        return Box(0, 99, (1,), space.dtype)
    return space


def modules(folder: Path) -> dict[str, ModuleType]:
    """Returns the modules that Tianshou's tests import, with our classes under their names."""
    data, env, policy, converter = (ModuleType(name) for name in ("data", "env", "policy", "converter"))
    for name in joystick.tianshou.__all__:
        setattr(data, name, getattr(joystick.tianshou, name))
    for name in ("ReplayBuffer", "PrioritizedVectorReplayBuffer"):
        setattr(data, name, getattr(joystick, name))
    data.Collector = Collector  # type: ignore[attr-defined]
    for name in ("DummyVectorEnv", "SubprocVectorEnv"):
        setattr(env, name, environments)
    policy.BasePolicy = BasePolicy  # type: ignore[attr-defined]
    theirs = ModuleType("test.base.env")
    exec(compile((folder / "env.py").read_text(encoding="utf-8"), "env.py", "exec"), vars(theirs))

    class MyTestEnv(theirs.MyTestEnv):  # type: ignore[misc, name-defined]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.observation_space = wide(self.observation_space)

    theirs.MyTestEnv = MyTestEnv  # type: ignore[attr-defined]
    return {
        "tianshou": ModuleType("tianshou"),
        "tianshou.data": data,
        "tianshou.env": env,
        "tianshou.policy": policy,
        "tianshou.data.utils": ModuleType("utils"),
        "tianshou.data.utils.converter": converter,
        "test": ModuleType("test"),
        "test.base": ModuleType("base"),
        "test.base.env": theirs,
    }


# running --------------------------------------------------------------------------------------------------


def one_import_each(tree: ast.Module) -> None:
    """Makes each imported name a statement of its own that may fail."""
    body: list[ast.stmt] = []
    for node in tree.body:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            body.append(node)
            continue
        for alias in node.names:
            alone = copy.copy(node)
            alone.names = [alias]
            attempt = ast.parse("try: pass\nexcept ImportError: pass").body[0]
            assert isinstance(attempt, ast.Try)
            attempt.body = [alone]
            body.append(attempt)
    tree.body = body


def run_file(path: Path) -> list[Check]:
    """Runs the test functions of a file. Returns what became of each statement."""
    separated = Separated(path.name)
    tree = Renamed().visit(ast.parse(path.read_text(encoding="utf-8")))
    one_import_each(tree)
    tree = ast.fix_missing_locations(separated.visit(tree))
    checks = separated.checks

    def failed(number: int, error: BaseException) -> None:
        checks[number].faults.append(f"{type(error).__name__}: {error}".split("\n")[0])

    def passed(number: int) -> None:
        checks[number].passes += 1

    names: dict[str, Any] = {"__name__": "test.base." + path.stem, "_failed": failed, "_passed": passed}
    names["_Missing"] = pytest.fail.Exception  # no exception where one is expected
    exec(compile(tree, path.name, "exec"), names)
    for name in dict.fromkeys(check.function for check in checks):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            names[name]()
    return checks


def run(folder: Path) -> list[Check]:
    """Runs all files of a folder, in a working directory of its own."""
    logging.disable(logging.CRITICAL)
    before, kept = os.getcwd(), dict(sys.modules)
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.modules.update(modules(folder))
        os.chdir(place)
        try:
            return [check for file in FILES if (folder / file).exists() for check in run_file(folder / file)]
        finally:
            os.chdir(before)
            logging.disable(logging.NOTSET)
            for name in set(sys.modules) - set(kept):
                if name.split(".")[0] in ("tianshou", "test"):
                    del sys.modules[name]


def counts(checks: list[Check]) -> Counter[str]:
    """Returns how many assertions passed, failed, and are different on purpose."""
    reached = [check for check in checks if check.asserts and (check.passes or check.failed)]
    return Counter(
        "passed" if not check.failed else "failed" if check.reason is None else "different" for check in reached
    )


def main() -> int:
    """Prints the table of docs/tianshou.md, and what fails. Returns 1 if something does that should not."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.tianshou", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="test/base of a checkout of Tianshou")
    parser.add_argument("--all", action="store_true", help="also list what is different on purpose, with the reasons")
    options = parser.parse_args()
    environments_there = options.folder / "env.py"
    if not environments_there.is_file() or "class MyTestEnv" not in environments_there.read_text(encoding="utf-8"):
        parser.error(f"{options.folder} has no env.py with MyTestEnv; give test/base of a checkout of Tianshou 0.5")
    checks = run(options.folder.resolve())
    print("| file | passed | failed | different on purpose |\n|---|---|---|---|")
    for file in dict.fromkeys(check.file for check in checks):
        found = counts([check for check in checks if check.file == file])
        print(f"| {file} | {found['passed']} | {found['failed']} | {found['different']} |")
    for check in checks:
        if check.failed and (check.reason is None or options.all):
            why = check.reason or (check.faults or ["not reached"])[0]
            text = check.text.splitlines()[0][:110]
            print(f"{check.file}:{check.line} {check.function}: {text} -- {why[:200].strip()}")
    return int(counts(checks)["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
