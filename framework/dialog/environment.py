"""The environment of dialogues that a program puts together."""

from typing import Any

from config.foreign.flags import databases
from config.read.loader import ConfigError, load
from framework.catalog import ALGOS, ENVS


def environment(sys_nlg: Any, usr: Any, sys_nlu: Any, sys_dst: Any, evaluator: Any = None, **settings: Any) -> Any:
    """Makes an environment of everything but the system's policy. None as sys_nlg or sys_nlu, or as nlg or nlu of the
    user: acts are passed on as they are. None as evaluator: the reward is that of the user. settings: env_cfg; without
    id and data_dir, the databases of MultiWOZ in a folder multiwoz, or else the id mini."""
    if placed := [name for name in ENVS.get("dialog").PARTS if name in settings]:
        positions = "Environment(sys_nlg, usr, sys_nlu, sys_dst, evaluator)"
        raise ConfigError(
            "Environment: {setting}: is a setting of a run; here each part has its place in {positions}",
            setting=placed[0],
            positions=positions,
        )
    if rows := [name for name in ("n_envs", "vectorization") if name in settings]:
        raise ConfigError(
            "Environment: {setting}: is a setting of a run; process_num of sample says how many dialogues are "
            "played at a time",
            setting=rows[0],
        )
    reward = "user" if evaluator is None else "convlab"
    domain = {} if {"id", "data_dir"} & set(settings) else databases()
    values = {"general_cfg": {"env_name": "dialog"}, "env_cfg": {"reward": reward, **domain, **settings}}
    config = load(None, [], find_algo=ALGOS, find_env=ENVS, values=values)
    return config.env_package.composed(config.env, sys_nlg, usr, sys_nlu, sys_dst, evaluator)
