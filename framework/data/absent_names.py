"""Names of Tianshou that have no counterpart of this name, and what to use in their place."""

from config.tell.language import tr

_HERE = tr("its names are in joystick.tianshou itself, such as joystick.tianshou.Collector")
_ENVS = tr("a Collector takes a list of environments, or a vector environment of gymnasium")
_NOISE = tr("noise is added in forward, when self.training is True; algorithms have settings such as expl_noise")
_TEAM = tr("several agents are trained by joystick.Run with policies_cfg (docs/agents.md)")
_NETWORK = tr("a network is a torch.nn.Module, or lists of layers in joystick.policy(algo, env, value_layers=[...])")
_RETURNS = tr("joystick.nstep_returns(buffer, indices, target, n, gamma) gives n-step returns")
_ADVANTAGES = tr("joystick.gae_returns(buffer, indices, value, next_value, gamma, lam) gives advantages and returns")
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
    **dict.fromkeys(("data", "env", "trainer", "utils", "exploration"), _HERE),
    **dict.fromkeys(("BaseVectorEnv", "VectorEnv"), _ENVS),
    **dict.fromkeys(("GaussianNoise", "OUNoise", "BaseNoise"), _NOISE),
    **dict.fromkeys(("MultiAgentPolicyManager", "PettingZooEnv"), _TEAM),
    **dict.fromkeys(("Net", "Recurrent", "Actor", "ActorProb", "Critic", "MLP"), _NETWORK),
    "RandomPolicy": tr(
        "collect(n_step=..., random=True) acts at random; an opponent that does is algo_name: Random in policies_cfg"
    ),
    "ImitationPolicy": tr('joystick.Run("BC", env, algo_cfg={"data": folder}) imitates recorded data'),
    "ICMPolicy": tr('bonus="icm" is a setting of an algorithm: joystick.policy("DQN", env, bonus="icm")'),
    "SummaryWriter": _LOGGERS,
    "compute_nstep_return": _RETURNS,
    "compute_episodic_return": _ADVANTAGES,
    "offline_trainer": tr('joystick.Run("CQL", env, algo_cfg={"data": folder}) learns from recorded data'),
}
"""Name -> a sentence about it. (Algorithms such as DQNPolicy are found by their name.)"""

_INSIDE = tr("it without: a joystick.Run has loggers and checkpoints, and resumes")
_IN_FORWARD = tr("it in forward, when self.training is True; algorithms have settings such as expl_noise")
ARGUMENTS = {
    **dict.fromkeys(("logger", "writer", "save_checkpoint_fn", "save_train_fn", "resume_from_log"), _INSIDE),
    **dict.fromkeys(("exploration_noise", "action_noise"), _IN_FORWARD),
    **dict.fromkeys(("verbose", "show_progress"), "show=True"),
    "train_collector": "train=",
    "test_collector": "test=",
    "save_best_fn": "save_fn=",
    "collect_per_step": "step_per_collect=",
    "episode_per_epoch": "step_per_epoch=",
    "preprocess_fn": tr("a wrapper of the environment, or process_fn of the policy"),
    "render": tr("run.film() of a joystick.Run, which makes videos"),
    "reward_metric": tr("joystick.Run with policies_cfg for several agents (docs/agents.md)"),
}
"""Argument of a Collector or a trainer -> what to write in its place."""

METHODS = {
    "buffers": tr("an index counts through all parts: part k of size L has the places k L to k L + L - 1"),
    "get_buffer_indices": tr("an index counts through all parts: part k of size L has the places k L to k L + L - 1"),
    "get_weight": tr("buffer[index].weight are the weights"),
    "load_hdf5": tr("load(path) reads a file that save(path) wrote"),
    "save_hdf5": tr("save(path) writes everything to a file"),
    "set_batch": tr("add, update and ReplayBuffer.from_data fill a buffer"),
}
"""Method or attribute of a buffer -> what to use in its place."""

OF_A_POLICY = {
    "compute_nstep_return": _RETURNS,
    "compute_episodic_return": _ADVANTAGES,
    "set_eps": tr("epsilon_start, epsilon_end and epsilon_decay of joystick.policy(...) explore; eval() ends it"),
    "exploration_noise": _NOISE,
    "map_action": tr("forward returns actions that the environment takes"),
    "soft_update": tr("the settings tau and target_update of joystick.policy(...) move target networks"),
}
"""Method of a policy -> what to use in its place."""

_MARKS = tr("batch.mapped(numpy.isnan) is True at each NaN")
OF_A_BATCH = {
    **dict.fromkeys(("isnull", "hasnull", "dropnull"), _MARKS),
    "get_keys": tr("keys() has its names"),
    "set_array_at_key": tr("batch[key] = array sets one"),
    "apply_values_transform": tr("mapped(function) returns a Batch of function(value)"),
    "to_list_of_dicts": tr("[row.to_dict() for row in batch] are its rows"),
}
"""Method of a Batch -> what to use in its place."""
