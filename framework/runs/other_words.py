"""Words of other libraries' Python interfaces -> what to write here, for the ends of sentences."""

import re
from typing import Any

from config.program import PROGRAM
from config.tell.language import tr

_LOAD = "joystick.load(run.task).act(obs)"
_EXPORT = tr("joystick.load(run.task), or {program} export NAME", program=PROGRAM)


def absent(thing: Any, name: str, instead: str | None) -> AttributeError:
    """Returns the error of a method that an object lacks. instead: what to call; empty or None: nothing is near."""
    kind = type(thing).__name__
    if instead:
        return AttributeError(tr("a {kind} has no {name!r}; use {instead}", kind=kind, name=name, instead=instead))
    return AttributeError(tr("a {kind} has no {name!r}", kind=kind, name=name))


ACTS = (
    "predict", "forward", "select_action", "choose_action", "get_action", "compute_action", "compute_single_action",
    "compute_actions",
)  # fmt: skip
"""Methods of policies of other libraries that choose an action."""
OF_A_RUN = {
    **dict.fromkeys(("learn", "fit", "step", "run"), "run.train(steps)"), "play": "run.film()",
    "test": "run.evaluate(episodes)", "eval": "run.evaluate(episodes)", "render": "run.film()",
    **dict.fromkeys((*ACTS, "act"), _LOAD),
    "load": tr("joystick.load(run.task) or run.restore(N)"),
    "reset": tr("run.train(steps), which resets the environment itself, or joystick.Run(...) for a new run"),
    "stop": "run.close()", "get_weights": "run.weights()", "get_policy": "run.agent", "policy": "run.agent",
    "optimizer": tr("run.foreach_worker(f) and run.foreach_env(f)"), "workers": "run.foreach_worker(f)",
    "local_evaluator": tr("run.agent and run.foreach_env(f)"), "foreach_evaluator": "run.foreach_worker(f)",
    "foreach_evaluator_with_index": tr("run.foreach_worker(f), which gets agent and index"), "env_runner": "run.agent",
    "foreach_policy": "run.foreach_worker(f)", "export_model": _EXPORT, "export_policy_model": _EXPORT,
    "from_checkpoint": "joystick.Run.resume(NAME)", "logdir": "run.task", "get_config": "run.config",
    "iteration": "run.train()['iteration']", "get_module": "run.agent", "learner_group": "run.agent",
    "env_runner_group": "run.foreach_worker(f)", "set_state": "run.restore(N)", "get_state": "run.save()",
    "import_model": tr("joystick.Run(..., general_cfg={'start_from': NAME})"),
    "export_policy_checkpoint": "run.save()", "save_checkpoint": "run.save()", "save_to_path": "run.save()",
    "num_timesteps": "run.count.step", "get_parameters": "run.weights()", "set_parameters": "run.set_weights(weights)",
    "set_env": tr("joystick.Run(algo, env, general_cfg={'start_from': NAME}), which begins with its weights"),
    **dict.fromkeys(("env", "get_env", "get_vec_normalize_env"), tr("run.foreach_env(f), which calls f(env, place)")),
    **dict.fromkeys(("replay_buffer", "rollout_buffer"), "run.sample(steps).window"),
    **dict.fromkeys(("save_replay_buffer", "load_replay_buffer"), tr("run.save(): a checkpoint has the replay buffer")),
    **dict.fromkeys(("logger", "set_logger"), tr("joystick.Run(..., general_cfg={'loggers': [...]}) and callbacks")),
    **dict.fromkeys(("actor", "critic", "q_net"), "run.agent"), "set_random_seed": "joystick.Run(..., seed=1)",
}  # fmt: skip
"""Methods."""
OF_A_POLICY = {
    **dict.fromkeys(ACTS, tr("act(obs), which returns the best action alone; reset() begins an episode")),
    "learn": tr("joystick.Run.resume(NAME) and its train(steps)"), "load": "joystick.load(NAME)",
    "save": tr("the run's checkpoints, or {program} export NAME", program=PROGRAM),
    "evaluate": tr("run.evaluate(episodes), or {program} test NAME", program=PROGRAM),
    **dict.fromkeys(("get_parameters", "parameters", "state_dict"), "policy.weights()"), "policy": "policy.agent",
    **dict.fromkeys(("q_table", "Q", "table"), tr('policy.weights(), which has "table" if the algorithm is tabular')),
}  # fmt: skip
"""Methods of a policy that joystick.load returns."""
OF_THE_CONSTRUCTOR = {
    "stop": tr("write general_cfg={'stop_return': 200} or {'max_iteration': 10}, and train until result['done']"),
    "logger_creator": tr("write general_cfg={'loggers': ['csv', 'my_module:MyLogger']}"),
    "env_config": tr("write env_cfg={...}, or config={'env_config': {...}}"),
    "model": tr("write algo_cfg={'actor_layers': [...]} (docs/networks.md), or config={'model': {...}}"),
    "multiagent": tr("write policies_cfg={...}, or config={'multiagent': {...}}"),
    "checkpoint_freq": tr("write general_cfg={'model_save_unit': 'iteration', 'model_save_fre': N}"),
    "local_dir": tr("write into='FOLDER'"), "name": tr("write into='FOLDER'"),
    "restore": tr("call joystick.Run.resume(NAME)"),
    "callback": tr("write callbacks=MyCallbacks, a class that inherits from joystick.Callbacks (docs/python.md)"),
}  # fmt: skip
"""Arguments of joystick.Run."""
OF_TRAIN = {
    **dict.fromkeys(("total_timesteps", "timesteps", "num_timesteps", "n_steps", "num_steps", "max_steps"), "steps"),
    **dict.fromkeys(("progress_bar", "verbose"), "progress"),
}
"""Arguments of joystick.Run.train."""
ABOUT_TRAIN = {
    **dict.fromkeys(
        ("callback", "callbacks"),
        tr("write joystick.Run(..., callbacks=MyCallbacks), a class that inherits from joystick.Callbacks"),
    ),
    "reset_num_timesteps": tr("leave it out: a run goes on where it stands"),
    "log_interval": tr("leave it out: every episode is a line of results/train.csv"),
    "tb_log_name": tr("write joystick.Run(..., general_cfg={'loggers': ['csv', 'tensorboard']})"),
    **dict.fromkeys(
        ("eval_env", "eval_freq", "n_eval_episodes"), tr("write joystick.Run(..., general_cfg={'online_eval': True})")
    ),
}
"""Arguments of other libraries' training that have no place in joystick.Run.train."""
OF_PLAYING = dict.fromkeys(("n_eval_episodes", "num_episodes", "n_episodes"), "episodes")
"""Arguments of the methods of joystick.Run that play episodes."""
ABOUT_PLAYING = {
    **dict.fromkeys(
        ("deterministic", "explore"),
        tr("leave it out: the actions are the best ones, unless joystick.Run had general_cfg={'explore': True}"),
    ),
    "render": tr("run.film(episodes) makes a video"),
}
"""Arguments of other libraries' evaluation that have no place in these methods."""
OF_ACT = {
    **dict.fromkeys(("observation", "observations"), "obs"),
    **dict.fromkeys(("action_masks", "action_mask"), "mask"),
    "prev_reward": "reward",
}
"""Arguments of the method act of a policy that joystick.load returns."""
OF_ACTING_TOGETHER = OF_ACT | dict.fromkeys(("mask", "action_mask", "action_masks"), "masks")
"""The same for the policies of several agents."""
ABOUT_ACT = {
    **dict.fromkeys(("deterministic", "explore"), tr("leave it out: the action is the best one")),
    **dict.fromkeys(
        ("state", "episode_start", "prev_action"),
        tr("leave it out: the policy keeps the state of its network, and reset() begins an episode"),
    ),
}
"""Arguments of other libraries' policies that have no place in act."""
OF_TUNE = {
    "num_samples": "samples", "config": tr("what, a mapping with general_cfg, algo_cfg and env_cfg, and space"),
    "stop": "what={'general_cfg': {'stop_return': ...}}", "resources_per_trial": "jobs", "local_dir": "into",
    "name": "into", "search_alg": "search", "metric": "score", "max_concurrent_trials": "jobs", "verbose": "show",
    "env": "what={'env_cfg': {'id': ...}}", "algo": "what={'general_cfg': {'algo_name': ...}}", "param_space": "space",
    "perturbation_interval": "rungs", "hyperparam_mutations": "space",
    "callbacks": "what={'general_cfg': {'callbacks': 'my_module:MyCallbacks'}}",
}  # fmt: skip
"""Arguments of joystick.tune."""
OF_RAYS_TUNE = {
    "run": tr(
        "write joystick.tune(what, space), or without values to try joystick.train(algo, env, seeds=1, config={...})"
    ),
    "choice": tr("write joystick.choice(...), with the values one by one"),
    "uniform": tr("write joystick.uniform(low, high)"),
}
"""Functions of ray.tune that joystick itself has, or answers otherwise."""
OF_THE_MODULE = {
    "ModelCatalog": tr("a model of your own is a layer {layer_type: custom, module: 'my_module:MyModel'}"),
    "Model": tr("a model of your own is a torch.nn.Module as a custom layer (docs/networks.md)"),
    "Preprocessor": tr("write a wrapper: env_cfg={'wrappers': ['my_module:MyWrapper']}"),
    "MultiAgentEnv": tr(
        "a class with possible_agents, observation_space(agent), action_space(agent), reset and step needs no base "
        "class"
    ),
    "Trainer": tr('write joystick.Run("PPO", env)'), "Algorithm": tr('write joystick.Run("PPO", env)'),
    "Tuner": tr("write joystick.tune(what, space)"), "run": tr("write joystick.tune(what, space)"),
    "grid_search": tr("write joystick.grid(...), with the values one by one"),
    "sample_from": tr("write joystick.choice(...), with the values one by one"),
    "loguniform": tr("write joystick.log(low, high)"), "randint": tr("write joystick.integer(low, high)"),
    "init": tr("Ray starts by itself with general_cfg={'mp_backend': 'ray'}; 'ray_address': 'auto' joins a cluster"),
    "shutdown": tr("run.close() ends what it started"),
    "rollout": tr("write run.evaluate(episodes), or {program} evaluate NAME", program=PROGRAM),
    "pretty_print": tr("write joystick.pretty(result)"),
    "DefaultCallbacks": tr("inherit from joystick.Callbacks"),
    "register_custom_model": tr("write a layer {layer_type: custom, module: 'my_module:MyModel'}"),
    "DEFAULT_CONFIG": tr("{program} describe PPO shows all settings", program=PROGRAM),
    "function": tr("give the function itself"),
}  # fmt: skip
"""Names of the module joystick."""
_LAYER = tr("a model of your own is a torch.nn.Module as a custom layer (docs/networks.md)")
_WRAPPER = tr("write a wrapper: env_cfg={'wrappers': ['my_module:MyWrapper']}")
_OUTSIDE = tr("a run steps its environment itself; joystick.load(NAME).act(obs) gives actions to a program outside")
_TRACES = tr("general_cfg={'traces': 'results/traces'} writes them, and joystick.read_traces(folder) reads them")
_GROUP = tr("policies_cfg names the agents of each policy, and QMIX and VDN need no groups (docs/agents.md)")
_DISTRIBUTION = tr("the distribution follows from the action space; another one is an algorithm of your own")
_SCHEDULER = tr("write joystick.tune(what, space, scheduler='pbt') or 'halving' (docs/tuning.md)")
_ALGORITHM = tr("an algorithm of your own is a package (docs/algorithms.md)")
OF_THE_MODULE |= {
    **dict.fromkeys(("TorchModelV2", "TFModelV2", "ModelV2", "RecurrentNetwork", "FullyConnectedNetwork"), _LAYER),
    **dict.fromkeys(("VisionNetwork", "RLModule", "TorchRLModule", "RLModuleSpec", "Catalog", "PPOCatalog"), _LAYER),
    **dict.fromkeys(("MultiRLModule", "MultiRLModuleSpec", "PolicySpec"), _GROUP),
    **dict.fromkeys(("register_custom_preprocessor", "Connector", "ConnectorV2", "wrap_deepmind"), _WRAPPER),
    **dict.fromkeys(("ExternalEnv", "ExternalMultiAgentEnv", "PolicyClient", "PolicyServerInput"), _OUTSIDE),
    **dict.fromkeys(("JsonReader", "JsonWriter", "SampleBatchBuilder", "InputReader", "OutputWriter"), _TRACES),
    **dict.fromkeys(("with_agent_groups", "GroupAgentsWrapper"), _GROUP),
    **dict.fromkeys(("register_custom_action_dist", "ActionDistribution", "TorchDistributionWrapper"), _DISTRIBUTION),
    **dict.fromkeys(("PopulationBasedTraining", "ASHAScheduler", "AsyncHyperBandScheduler"), _SCHEDULER),
    **dict.fromkeys(("HyperBandScheduler", "MedianStoppingRule", "PB2"), _SCHEDULER),
    **dict.fromkeys(("build_trainer", "build_torch_policy", "build_tf_policy", "build_policy_class"), _ALGORITHM),
    **dict.fromkeys(("Learner", "LearnerGroup", "TorchPolicy", "TFPolicy", "Trainable"), _ALGORITHM),
    "SampleBatch": tr("a sample is a joystick.Batch"),
    "MultiAgentBatch": tr("a sample is a joystick.Batch"),
    "run_experiments": tr("write joystick.tune(what, space), or {program} -f FILE", program=PROGRAM),
    "AlgorithmConfig": tr('write joystick.Run("PPO", env, config={...})'),
    "rllib": tr('write joystick.Run("PPO", env, config={...})'),
    "TaskSettableEnv": tr("an environment with set_phase(value) follows general_cfg.curriculum (docs/curriculum.md)"),
}
NETWORKS_FOLLOW = tr("networks follow from the spaces, or are lists of layers in algo_cfg (docs/networks.md)")
_ROWS = tr("write env_cfg={'n_envs': 8}, and 'vectorization': 'sync' or 'async'")
_CALLBACKS = tr("inherit from joystick.Callbacks, and name the class as callbacks= of joystick.Run (docs/python.md)")
_EVALUATIONS = tr("write general_cfg={'online_eval': True, 'model_save_unit': 'step', 'model_save_fre': 1000}")
_CURVES = tr("every episode is a line of results/train.csv, and run.plot() draws the curve")
_NOISE = tr("write algo_cfg={'exploration_type': 'gaussian', 'expl_noise': 0.1}, or 'ou'")
_RATE = tr("write algo_cfg={'lr': {'linear': [0.001, 0.0]}} (docs/schedules.md)")
OF_THE_MODULE |= {
    **dict.fromkeys(("make_vec_env", "DummyVecEnv", "SubprocVecEnv", "VecEnv"), _ROWS),
    **dict.fromkeys(("Monitor", "VecMonitor", "load_results", "ts2xy", "plot_results", "results_plotter"), _CURVES),
    **dict.fromkeys(
        ("BaseCallback", "CallbackList", "EventCallback", "ConvertCallback", "EveryNTimesteps"), _CALLBACKS
    ),
    **dict.fromkeys(("NormalActionNoise", "OrnsteinUhlenbeckActionNoise", "VectorizedActionNoise"), _NOISE),
    **dict.fromkeys(("MlpPolicy", "CnnPolicy", "MultiInputPolicy", "MlpLstmPolicy", "CnnLstmPolicy"), NETWORKS_FOLLOW),
    **dict.fromkeys(("ActorCriticPolicy", "ActorCriticCnnPolicy", "MultiInputActorCriticPolicy"), NETWORKS_FOLLOW),
    **dict.fromkeys(("BaseFeaturesExtractor", "NatureCNN", "CombinedExtractor"), _LAYER),
    **dict.fromkeys(("BaseAlgorithm", "OnPolicyAlgorithm", "OffPolicyAlgorithm"), _ALGORITHM),
    **dict.fromkeys(("get_linear_fn", "LinearSchedule", "linear_schedule"), _RATE),
    **dict.fromkeys(("VecEnvWrapper", "AtariWrapper"), _WRAPPER),
    "EvalCallback": _EVALUATIONS,
    "CheckpointCallback": _EVALUATIONS,
    "StopTrainingOnRewardThreshold": tr("write general_cfg={'online_eval': True, 'reward_threshold': 475}"),
    "StopTrainingOnMaxEpisodes": tr("write general_cfg={'max_episode': 100}"),
    "ProgressBarCallback": tr("write run.train(steps, progress=True)"),
    "evaluate_policy": tr("write run.evaluate(10), or {program} test NAME --episodes 10", program=PROGRAM),
    "VecNormalize": tr("write algo_cfg={'normalize_obs': True, 'normalize_reward': True}"),
    "VecFrameStack": tr("write env_cfg={'wrappers': [{'wrapper_name': 'FrameStack', 'stack_size': 4}]}"),
    "VecVideoRecorder": tr("write run.film(), or {program} film NAME", program=PROGRAM),
    "make_atari_env": tr("write joystick.Run('DQN', 'ALE/Breakout-v5'), whose preset has the usual wrappers"),
    "RolloutBuffer": tr("write run.sample(steps).window"),
    "HerReplayBuffer": tr("hindsight is part of an algorithm, DDPG_HER or SAC_HER, in joystick.Run"),
    "ActionMasker": tr("an environment that knows its legal actions says so by itself (docs/environments.md)"),
    "set_random_seed": tr("write joystick.Run(..., seed=1)"),
    "configure": tr("write general_cfg={'loggers': ['csv', 'my_module:MyLogger']}"),
    "check_env": tr("write {program} --env my_env.py --allow-import my_env --dry-run", program=PROGRAM),
}
_TRAINER = re.compile("(Trainer|Agent|Algorithm|Config)$")


def stem_of(name: str) -> str:
    """Returns the algorithm in a name such as PPOTrainer; the name itself if there is none."""
    return _TRAINER.sub("", name) or name
