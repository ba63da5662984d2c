"""Names of Tianshou that have no counterpart of this name, and what to use in their place."""

from config.tell.language import tr

_LOGGERS = tr("joystick.Run writes tables and curves by itself; general_cfg={'loggers': [...]} adds others")
INSTEAD = {
    "ActorPolicy": tr('joystick.policy("SAC", env) is the policy of an algorithm'),
    "AsyncCollector": tr(
        "environments are waited for together; a run collects in several processes with mp_backend: ray"
    ),
    "BasePolicy": tr("a policy of your own inherits from joystick.Policy"),
    "DummyVectorEnv": tr("a Collector takes a list of environments"),
    "HERReplayBuffer": tr("hindsight is part of an algorithm, DDPG_HER or SAC_HER, in joystick.Run"),
    "HERVectorReplayBuffer": tr("hindsight is part of an algorithm, DDPG_HER or SAC_HER, in joystick.Run"),
    "OffpolicyTrainer": tr("offpolicy_trainer(policy, train, test, ...) trains when it is called"),
    "OnpolicyTrainer": tr("onpolicy_trainer(policy, train, test, ...) trains when it is called"),
    "OfflineTrainer": tr('joystick.Run("CQL", env, algo_cfg={"data": folder}) learns from recorded data'),
    "PrioritizedReplayBufferManager": tr("PrioritizedVectorReplayBuffer(total_size, buffer_num, alpha, beta) is one"),
    "RayVectorEnv": tr("a Collector takes a list of environments; a run has several processes with mp_backend: ray"),
    "ReplayBufferManager": tr("VectorReplayBuffer(total_size, buffer_num) makes its parts itself"),
    "SegmentTree": tr("PrioritizedReplayBuffer has the sum tree inside; its `weight` are the priorities"),
    "ShmemVectorEnv": tr("a Collector takes a list of environments, or a vector environment of gymnasium"),
    "SubprocVectorEnv": tr("a Collector takes a list of environments, or a vector environment of gymnasium"),
    "BasicLogger": _LOGGERS,
    "TensorboardLogger": _LOGGERS,
    "WandbLogger": _LOGGERS,
    "Net": tr("a network is a torch.nn.Module, or lists of layers in joystick.policy(algo, env, value_layers=[...])"),
    "offline_trainer": tr('joystick.Run("CQL", env, algo_cfg={"data": folder}) learns from recorded data'),
}
"""Name -> a sentence about it. (Algorithms such as DQNPolicy are found by their name.)"""

ARGUMENTS = {
    **dict.fromkeys(("logger", "writer", "save_checkpoint_fn", "save_train_fn", "resume_from_log"), tr(
        "it without: a joystick.Run has loggers and checkpoints, and resumes")),
    **dict.fromkeys(("verbose", "show_progress"), "show=True"), "train_collector": "train=",
    "test_collector": "test=", "save_best_fn": "save_fn=", "episode_per_epoch": "step_per_epoch=",
}  # fmt: skip
"""Argument of a trainer -> what to write in its place."""

METHODS = {
    "buffers": tr("an index counts through all parts: part k of size L has the places k L to k L + L - 1"),
    "get_buffer_indices": tr("an index counts through all parts: part k of size L has the places k L to k L + L - 1"),
    "get_weight": tr("buffer[index].weight are the weights"),
    "load_hdf5": tr("load(path) reads a file that save(path) wrote"),
    "save_hdf5": tr("save(path) writes everything to a file"),
    "set_batch": tr("add, update and ReplayBuffer.from_data fill a buffer"),
}
"""Method or attribute of a buffer -> what to use in its place."""
