"""All of RLlib's words, and what each is here. The tables of docs/rllib.md are made of these, and so are messages, and
what --config, --stop and files of experiments set."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from config.foreign import rllib_values as values
from config.foreign.table import Meaning, Row


class Key(NamedTuple):
    """Words of RLlib that are the same here."""

    names: str
    """The words, with blanks between them."""
    row: Row
    here: str = ""
    """Text of the page about the setting here; empty: the settings of the row, or a dash."""

    def words(self) -> list[str]:
        return self.names.split()


def _ours(names: str, settings: str, remark: str = "", here: str = "", **more: Any) -> Key:
    """Returns words whose value a setting here has, or a translation of it."""
    return Key(names, Row(settings, remark, **more), here)


def _nothing(names: str, why: str, here: str = "", **more: Any) -> Key:
    """Returns words that need nothing here. more: values for which that is true, and what to write for others."""
    return Key(names, Row(needless=why, **more), here)


def _refused(names: str, here: str, what: str, *harmless: Any, needless: str = "", remark: str = "") -> Key:
    """Returns words whose value has to be written by hand. harmless: values that need nothing."""
    return Key(
        names, Row(refused=what, needless=needless or "it is off", values=harmless or (None,), remark=remark), here
    )


_LAYERS = "value_layers actor_layers critic_layers"
_ONE_INIT = "algo_cfg.init is the same for all layers"
_TORCH = "networks are torch's"
_EVALUATED = "evaluated in the process of the command, up to 10 rows at once"

MODEL = (
    _ours(
        "fcnet_hiddens",
        _LAYERS,
        "one linear layer for each size: `{layer_type: linear, layer_size: [256, 256]}`; not used with pictures",
        translate=values.layers,
    ),
    _ours(
        "fcnet_activation",
        "",
        "tanh, relu, silu (RLlib's swish), none (its linear) and others",
        "`activation` of a linear layer",
        translate=values.layers,
    ),
    _refused(
        "fcnet_weights_initializer fcnet_weights_initializer_config fcnet_kernel_initializer "
        "fcnet_kernel_initializer_kwargs",
        "`init`",
        "algo_cfg.init is orthogonal, xavier or kaiming; another one is written in a [custom "
        "layer](networks.md#custom-layers)",
    ),
    _refused(
        "fcnet_bias_initializer fcnet_bias_initializer_config fcnet_bias_initializer_kwargs",
        "`init`",
        "algo_cfg.init: biases are 0, except with default",
    ),
    _refused(
        "fcnet_use_layernorm head_fcnet_use_layernorm",
        "`{layer_type: layernorm}` in a layer list",
        "write `{layer_type: layernorm}` after each linear layer of the list",
        False,
    ),
    _ours(
        "conv_filters",
        "",
        "for `[[16, [4, 4], 2]]`, one layer for each entry. All but the last have the `padding` with which a "
        "stride of 1 keeps the size of the picture, as in RLlib; the size is `dim`. Without any, a default for "
        "the size is used",
        "`{layer_type: conv2d, out_channel: 16, kernel_size: 4, stride: 2}` in a layer list",
        translate=values.layers,
    ),
    _ours("conv_activation", "", "", "`activation` of a conv2d layer", translate=values.layers_with("conv_filters")),
    _refused(
        "conv_kernel_initializer conv_kernel_initializer_config conv_kernel_initializer_kwargs "
        "conv_bias_initializer conv_bias_initializer_config conv_bias_initializer_kwargs",
        "`init`",
        _ONE_INIT,
    ),
    _nothing(
        "conv_transpose_kernel_initializer conv_transpose_kernel_initializer_config "
        "conv_transpose_bias_initializer conv_transpose_bias_initializer_config",
        "no algorithm here has a decoder",
    ),
    _ours(
        "post_fcnet_hiddens post_fcnet_activation",
        "",
        "a list is in order, so there is no second list",
        "`layer_size`, `activation` of linear layers after the conv2d layers",
        translate=values.layers_with("conv_filters"),
    ),
    _refused(
        "head_fcnet_hiddens head_fcnet_activation",
        "`layer_size`, `activation` of linear layers after the conv2d layers",
        "write the layers as linear layers at the end of the list",
        [],
    ),
    _refused(
        "post_fcnet_weights_initializer post_fcnet_weights_initializer_config post_fcnet_bias_initializer "
        "post_fcnet_bias_initializer_config head_fcnet_kernel_initializer head_fcnet_kernel_initializer_kwargs "
        "head_fcnet_bias_initializer head_fcnet_bias_initializer_kwargs",
        "`init`",
        _ONE_INIT,
    ),
    _refused(
        "fusionnet_hiddens fusionnet_activation",
        "layer list after `branches`",
        "algo_cfg.branches: the parts of a Dict observation have `branches`, whose outputs are concatenated and "
        "go through the list of layers",
        [],
    ),
    _refused(
        "fusionnet_kernel_initializer fusionnet_kernel_initializer_kwargs fusionnet_bias_initializer "
        "fusionnet_bias_initializer_kwargs",
        "`init`",
        _ONE_INIT,
    ),
    _nothing(
        "free_log_std",
        "PPO, A2C, TRPO and REINFORCE always have a standard deviation that does not depend on the state (true), "
        "SAC and its family one that does (false); `log_std_init` is its first value",
    ),
    _nothing("log_std_clip_param", "the limits of the standard deviation belong to each distribution"),
    _nothing(
        "no_final_linear",
        "the output layer follows from the action space, and is always there",
        values=(False,),
        refused="the output layer follows from the action space, and is always there; leave it out",
    ),
    _ours(
        "vf_share_layers",
        "",
        "false: actor and critic are separate networks; true: their hidden layers are one "
        "([networks.md](networks.md#shared-layers)). PPO of old has it beside `model`",
        "layers with `shared`",
        translate=values.switch(values.layers),
    ),
    _ours(
        "use_lstm",
        "",
        "anywhere in the list, and in actor and critic separately; true: after the other layers",
        "`{layer_type: lstm}` or `{layer_type: gru}` in a layer list",
        translate=values.lstm,
    ),
    _ours(
        "max_seq_len",
        "lookup_step",
        "with `burn_in` steps before it, for a replay buffer; 20 without a recurrent layer needs nothing",
        translate=values.sequence_length,
    ),
    _ours(
        "lstm_cell_size",
        "",
        "read with `use_lstm: true`",
        "`layer_size` of an lstm or gru layer",
        translate=values.layers_with("use_lstm"),
    ),
    _refused(
        "lstm_use_prev_action lstm_use_prev_reward lstm_use_prev_action_reward",
        "-",
        "a wrapper adds them to the observation (docs/rllib.md, Previous action and reward)",
        False,
        remark="a wrapper adds them to the observation: see [below](#previous-action-and-reward)",
    ),
    _nothing(
        "lstm_weights_initializer lstm_weights_initializer_config lstm_bias_initializer "
        "lstm_bias_initializer_config lstm_kernel_initializer lstm_kernel_initializer_kwargs "
        "lstm_bias_initializer_kwargs",
        "recurrent layers keep the initial weights of torch",
    ),
    _nothing("_time_major", "sequences are always [time, rows, ...]"),
    _refused(
        "use_attention",
        "-",
        "no attention layer is built in; one over the parts of an observation is a [custom "
        "layer](networks.md#custom-layers), and one over time a custom recurrent layer whose state is its memory",
        False,
    ),
    _nothing(
        "attention_num_transformer_units attention_dim attention_num_heads attention_head_dim "
        "attention_memory_inference attention_memory_training attention_position_wise_mlp_dim "
        "attention_init_gru_gate_bias attention_use_n_prev_actions attention_use_n_prev_rewards",
        "they are read with `use_attention: true`",
    ),
    _ours(
        "framestack",
        "",
        "games of ale_py: on their own vector environment they are stacked (true, the default) or not (false). It"
        " was for Atari games only: others are stacked by the wrapper",
        "`env_cfg.wrappers: [{wrapper_name: FrameStack, stack_size: 4}]`",
        translate=values.frames,
    ),
    _ours(
        "no_framestack",
        "",
        "the opposite of `framestack`, in old files",
        "`env_cfg.wrappers`",
        translate=values.no_frames,
    ),
    _ours(
        "num_framestacks",
        "",
        "auto is `framestack`",
        "`env_cfg.wrappers: [{wrapper_name: FrameStack, stack_size: 4}]`",
        translate=values.num_frames,
    ),
    _ours(
        "dim",
        "",
        "games of ale_py have `img_height` and `img_width` in its place; 84, the default, is for them alone",
        "`env_cfg.wrappers: [{wrapper_name: Resize, shape: 84}]`",
        translate=values.side,
    ),
    _ours(
        "grayscale",
        "",
        "or WarpFrame, which also resizes; games of ale_py are always gray",
        "`env_cfg.wrappers: [GrayScale]`",
        translate=values.gray,
    ),
    _nothing(
        "zero_mean squash_to_range",
        "pixels are divided by 255, and actions are scaled to the bounds; another range is a wrapper",
    ),
    _ours(
        "custom_model",
        "",
        "a [custom layer](networks.md#custom-layers) at any place of a layer list; it takes the place of the "
        "whole list",
        '`{layer_type: custom, module: "my_module:MyLayer"}`',
        translate=values.layers,
    ),
    _ours(
        "custom_model_config custom_options",
        "",
        "read with `custom_model`",
        "`options` of a custom layer",
        translate=values.layers_with("custom_model"),
    ),
    _refused(
        "custom_action_dist",
        "-",
        "the distribution follows from the action space; another one is an algorithm of your own "
        "([algorithms.md](algorithms.md))",
    ),
    _ours(
        "custom_preprocessor",
        "",
        "a `gymnasium.ObservationWrapper`; also called `custom_preprocessors` in an old version",
        '`env_cfg.wrappers: ["my_module:MyWrapper"]`',
        translate=values.preprocessor,
    ),
    _refused(
        "encoder_latent_dim",
        "`layer_size` of the last linear layer",
        "write it as the size of the last linear layer of the list",
    ),
    _nothing("state_shape", "the layers know the size of their state"),
    _nothing(
        "always_check_shapes", "shapes are checked when a network is built, with the chain of shapes in the message"
    ),
    _nothing(
        "_use_default_native_models _disable_preprocessor_api _disable_action_flattening",
        "switches of RLlib's internals",
    ),
)

ENVIRONMENT = (
    _ours(
        "env",
        "env_cfg.id",
        "with `general_cfg.env_name: gym` an id of gymnasium, with `python` a class or function of your own "
        "([environments.md](environments.md#your-own-environment)). An id that has gone is replaced by the "
        "present one, with a note; an Atari game is played on ale_py's own vector environment",
        translate=values.env,
    ),
    _ours(
        "env_config",
        "",
        "passed as arguments, or as one mapping to a parameter `env_config`",
        "all other keys of `env_cfg`",
        translate=values.env_config,
    ),
    _ours("horizon", "general_cfg.max_step", "a truncation, not a termination; -1 leaves the limit to the environment"),
    _nothing("soft_horizon", "an episode that max_step ends is truncated, bootstrapped, and followed by a reset"),
    _nothing("no_done_at_end", "a truncated episode is always bootstrapped, and one that terminates is not"),
    _nothing("observation_space action_space", "read from the environment"),
    _ours(
        "clip_rewards reward_clip",
        "reward_clip",
        "sign or clip, for learning only: scores stay the environment's",
        translate=values.clip_rewards,
    ),
    _nothing("normalize_actions clip_actions", "actions are always scaled to the bounds of the space, and clipped"),
    _nothing("is_atari", "games of ale_py are played on its own vector environment"),
    _ours(
        "preprocessor_pref",
        "",
        "games of ale_py have their own vector environment, with one frame for rllib; nothing else is wrapped "
        "unless it is written",
        "`env_cfg.wrappers`",
        translate=values.preprocessor_pref,
    ),
    _nothing(
        "disable_env_checking auto_wrap_old_gym_envs",
        "the first reset and step are always checked; an old environment is wrapped by `OldGym`",
    ),
    _ours("render_env", "", "human", "`env_cfg.render_mode`", translate=values.render_env),
    _ours(
        "monitor",
        "env_cfg.render_mode general_cfg.video_fre",
        "true: a video (`videos/`) of every hundredth training episode; `video_fre` is the number of episodes "
        "between videos",
        "`env_cfg.render_mode`, `general_cfg.video_fre`",
        translate=values.monitor,
    ),
    _refused(
        "action_mask_key",
        "`env_cfg.action_mask`",
        "the key is always action_mask; env_cfg.action_mask: false ignores the mask",
        "action_mask",
        needless="the key is always action_mask",
    ),
    _refused(
        "env_task_fn",
        "`general_cfg.curriculum`",
        "write general_cfg.curriculum: phases by a number of the result (docs/curriculum.md)",
        remark="phases by a number of the result; see [curriculum.md](curriculum.md)",
    ),
    _ours(
        "remote_worker_envs",
        "",
        "true is async: a process for each row",
        "`env_cfg.vectorization`",
        translate=values.vectorization,
    ),
    _nothing("remote_env_batch_wait_ms", "rows are stepped together"),
    _refused(
        "gym_env_vectorize_mode",
        "`env_cfg.vectorization`",
        "write env_cfg.vectorization: sync, async, native or auto",
        "SYNC",
        "sync",
        needless="env_cfg.vectorization: auto chooses",
        remark="sync, async, native or auto",
    ),
    _nothing("env_runner_cls worker_cls sample_collector", "one collector steps all environments"),
)

COLLECTING = (
    _ours(
        "num_workers num_rollout_workers num_env_runners",
        "general_cfg.n_workers",
        "with `general_cfg.mp_backend: ray`; 0 is `single`",
        translate=values.workers,
    ),
    _ours("num_envs_per_worker num_envs_per_env_runner num_envs", "env_cfg.n_envs"),
    _ours(
        "rollout_fragment_length sample_batch_size",
        "train_fre batch_size",
        "for a replay buffer, in transitions over all rows; for on-policy algorithms it follows from `batch_size`",
        translate=values.fragment,
    ),
    _nothing(
        "batch_mode",
        "REINFORCE learns from complete episodes (its unit `batch_episode`), all others from steps: the value of "
        "the next state stands for the rest of an episode",
    ),
    _nothing("sample_async", "`general_cfg.run_ahead` says how far workers run ahead of the learner"),
    _ours(
        "max_requests_in_flight_per_env_runner max_sample_requests_in_flight_per_worker "
        "max_requests_in_flight_per_sampler_worker",
        "general_cfg.run_ahead",
        "how far workers run ahead of the learner",
    ),
    _nothing(
        "max_requests_in_flight_per_learner max_requests_in_flight_per_learner_worker",
        "`general_cfg.run_ahead` says how far workers run ahead of the learner",
    ),
    _ours("observation_filter", "normalize_obs", "MeanStdFilter is true", translate=values.observation_filter),
    _nothing(
        "synchronize_filters update_worker_filter_stats use_worker_filter_stats "
        "sync_filters_on_rollout_workers_timeout_s",
        "the statistics belong to the learner, and travel with the weights",
    ),
    _nothing("compress_observations", "observations are stored as they are; pixels stay bytes"),
    _nothing(
        "create_local_env_runner create_env_on_local_worker create_env_on_driver "
        "validate_env_runners_after_construction validate_workers_after_construction",
        "the process of the command always has an environment, for its spaces and for evaluation",
    ),
    _nothing(
        "enable_connectors add_default_connectors_to_env_to_module_pipeline "
        "add_default_connectors_to_module_to_env_pipeline add_default_connectors_to_learner_pipeline",
        "wrappers and layers do the work of connectors",
    ),
    _nothing(
        "merge_env_runner_states broadcast_env_runner_states use_env_runner_state_server "
        "env_runner_state_server_max_concurrency",
        "workers get weights only",
    ),
    _nothing(
        "episodes_to_numpy episode_lookback_horizon",
        "fragments are numpy arrays; `lookup_step` is the length of a sequence",
    ),
    _ours("explore", "", "on in training, off in evaluation and test", "-", translate=values.explore),
    _ours(
        "exploration_config",
        "exploration_type",
        "with `epsilon_start`, `epsilon_end`, `epsilon_decay`, `temperature`, `expl_noise`, by algorithm; see "
        "[below](#mappings) for its words",
        translate=values.mapping,
    ),
    _nothing(
        "fake_sampler sampler_perf_stats_ema_coef enable_tf1_exec_eagerly sample_timeout_s",
        "nothing to set; a step that hangs ends the run after `general_cfg.env_timeout`",
    ),
)

LEARNING = (
    _ours(
        "train_batch_size train_batch_size_per_learner timesteps_per_batch",
        "batch_size",
        "on-policy: transitions of a window over all rows; replay buffer: of a minibatch",
        translate=values.train_batch,
    ),
    _ours("minibatch_size sgd_minibatch_size sgd_batchsize", "sgd_batch_size", "PPO, TRPO, PQN"),
    _ours("num_epochs num_sgd_iter", "k_epochs", translate=values.epochs),
    _nothing(
        "shuffle_batch_per_epoch shuffle_sequences",
        "minibatches are always shuffled",
        values=(True,),
        refused="minibatches are always shuffled; leave it out",
    ),
    _ours("gamma discount", "gamma"),
    _ours("lr sgd_stepsize", "lr", "or `actor_lr` and `critic_lr`; a schedule is `lr_schedule`", translate=values.rate),
    _ours(
        "lr_schedule",
        "lr_schedule",
        "`[[0, 5e-4], [20000000, 1e-12]]`, a straight line to a rate near 0, is linear with its first rate as "
        "`lr`; it ends with the run",
        translate=values.rate_schedule,
    ),
    _ours("learning_rate", "lr actor_lr critic_lr alpha_lr", translate=values.all_rates),
    _ours("grad_clip grad_norm_clipping", "max_grad_norm"),
    _nothing(
        "grad_clip_by",
        "always by the global norm",
        values=("global_norm",),
        refused="gradients are clipped by their global norm: algo_cfg.max_grad_norm",
    ),
    _ours("optimizer", "optimizer", "adam, adamw, rmsprop or sgd, with `weight_decay`", translate=values.optimizer),
    _ours("adam_epsilon", "adam_epsilon"),
    _ours("l2_reg", "weight_decay", translate=values.weight_decay),
    _ours("rmsprop", "optimizer", translate=values.rmsprop),
    _ours("model", "", "see [above](#model)", "lists of layers, such as `actor_layers`", translate=values.model),
    _nothing(
        "framework framework_str use_pytorch use_torch eager",
        _TORCH,
        remark="networks are torch's; every value is accepted",
    ),
    _nothing(
        "eager_tracing eager_max_retraces tf_session_args local_tf_session_args _tf_policy_handles_more_than_one_loss",
        _TORCH,
    ),
    _nothing(
        "torch_compile_learner torch_compile_learner_what_to_compile torch_compile_learner_dynamo_backend "
        "torch_compile_learner_dynamo_mode torch_compile_worker torch_compile_worker_dynamo_backend "
        "torch_compile_worker_dynamo_mode torch_ddp_kwargs",
        "`general_cfg.compile` compiles whole gradient steps, by itself in long runs",
    ),
    _nothing("torch_skip_nan_gradients", "a metric that is not finite ends the run"),
    _nothing(
        "learner_config_dict simple_optimizer distributed_data_parallel_optimizer optimizer_class optimizer_config",
        "nothing to set",
    ),
    _ours("buffer_size replay_buffer_capacity", "buffer_size"),
    _ours(
        "replay_buffer_config",
        "",
        "see [below](#mappings) for its words",
        "`buffer_size`, `buffer_type` and others",
        translate=values.mapping,
    ),
    _ours("prioritized_replay", "", "", "`buffer_type: PER`", translate=values.prioritized),
    _ours("prioritized_replay_alpha", "per_alpha"),
    _ours("prioritized_replay_beta", "per_beta"),
    _ours("prioritized_replay_eps", "per_epsilon"),
    _nothing(
        "prioritized_replay_beta_annealing_timesteps beta_annealing_fraction final_prioritized_replay_beta",
        "`per_beta` always rises to 1 over the planned run",
    ),
    _nothing("worker_side_prioritization", "the learner computes priorities; new transitions have the highest one"),
    _ours("learning_starts num_steps_sampled_before_learning_starts", "learning_starts"),
    _ours("replay_batch_size", "batch_size"),
    _ours("replay_sequence_length", "lookup_step", "with recurrent layers"),
    _nothing("replay_mode", "for several policies"),
    _ours(
        "training_intensity",
        "updates_per_train",
        "transitions that are learned from for each collected one; here updates for each `train_fre` steps",
        translate=values.intensity,
    ),
    _ours("seed", "general_cfg.seed", "0 draws one, which is printed and recorded"),
)

ALGORITHMS = (
    _ours("lambda lambda_", "gae_lambda"),
    _ours("use_gae", "gae_lambda", "false is a `gae_lambda` of 1", translate=values.gae),
    _nothing(
        "use_critic",
        "it is always used",
        values=(True,),
        refused="A2C and PPO always have a critic; REINFORCE has none without critic layers",
    ),
    _ours("clip_param", "eps_clip"),
    _ours(
        "vf_clip_param",
        "value_clip",
        "limits the change of the value, as in early versions; later ones limit the squared error",
    ),
    _ours("vf_loss_coeff", "value_coef"),
    _ours("entropy_coeff", "entropy_coef alpha"),
    _refused("entropy_coeff_schedule", "-", "algo_cfg.entropy_coef is constant"),
    _ours(
        "kl_coeff",
        "kl_lambda",
        "read with `ppo_type: kl`, which replaces the clipping; 0 needs nothing",
        translate=values.kl_coeff,
    ),
    _ours("kl_target", "kl_target"),
    _nothing(
        "use_kl_loss",
        "`ppo_type: kl` has a penalty in the place of the clipping",
        values=(False,),
        refused="write algo_cfg.ppo_type: kl, which has a penalty in the place of the clipping",
    ),
    _ours(
        "vtrace",
        "vtrace",
        "A2C and IMPALA; PPO's windows are at most `general_cfg.run_ahead` windows old",
        translate=values.vtrace,
    ),
    _nothing(
        "vtrace_drop_last_ts vtrace_clip_rho_threshold vtrace_clip_pg_rho_threshold",
        "ratios are cut at 1, and the value of the last state counts",
    ),
    _nothing(
        "broadcast_interval minibatch_buffer_size num_multi_gpu_tower_stacks num_data_loader_buffers "
        "num_parallel_data_loaders num_aggregation_workers replay_proportion replay_buffer_num_slots "
        "learner_queue_size learner_queue_timeout max_sample_requests_in_flight_per_aggregation_worker "
        "num_gpu_loader_threads minibatch_buffer",
        "the learner takes each window once, and workers get the newest weights",
    ),
    _nothing(
        "microbatch_size",
        "a window or minibatch is learned as a whole, which gives the same gradient: `sgd_batch_size` is the size"
        " of a minibatch",
    ),
    _nothing("_separate_vf_optimizer", "`actor_lr` and `critic_lr` are two rates"),
    _ours("_lr_vf", "critic_lr"),
    _refused(
        "num_sgd_iter_policy num_sgd_iter_vf sgd_stepsize_policy sgd_stepsize_vf timesteps_per_batch_policy "
        "timesteps_per_batch_vf",
        "`k_epochs`, `batch_size`, `actor_lr`, `critic_lr`",
        "policy and value are learned from one batch: algo_cfg.batch_size and k_epochs, with actor_lr and critic_lr",
    ),
    _ours("n_step", "n_step"),
    _ours("dueling", "dueling"),
    _ours("double_q", "double"),
    _ours("noisy", "noisy", "NoisyDQN, RainbowDQN and the family of DQN", translate=values.noisy),
    _ours("sigma0", "std_init"),
    _ours("num_atoms", "n_atoms", "1 is DQN; more are C51 or RainbowDQN", translate=values.atoms),
    _ours("v_min", "v_min"),
    _ours("v_max", "v_max"),
    _ours("hiddens", "value_layers", "linear layers after those of `model`", translate=values.hiddens),
    _ours(
        "target_network_update_freq",
        "target_update",
        "converted from environment steps to updates",
        translate=values.target_update,
    ),
    _ours("exploration_fraction", "epsilon_decay", "of `schedule_max_timesteps`", translate=values.epsilon_fraction),
    _nothing("schedule_max_timesteps", "it is the length of which `exploration_fraction` is a part"),
    _ours("exploration_initial_eps", "epsilon_start", translate=values.epsilon("start")),
    _ours("exploration_final_eps", "epsilon_end", "", translate=values.epsilon("end")),
    _nothing("per_worker_exploration", "all workers explore alike"),
    _nothing(
        "exploration_enabled",
        "training explores, and tests do not",
        values=(True,),
        refused="write algo_cfg.exploration_type: none",
    ),
    _nothing(
        "apex_optimizer max_weight_sync_delay num_replay_buffer_shards num_gradient_worker_shards "
        "num_background_prio_workers force_evaluators_remote debug",
        "workers of Ray are `general_cfg.mp_backend: ray`, with one memory",
    ),
    _ours("use_huber", "loss", "true is huber, false is mse", translate=values.huber),
    _nothing(
        "huber_threshold",
        "the loss changes from square to line at 1",
        values=(1.0, 1),
        refused="the loss of algo_cfg.loss: huber changes from square to line at 1",
    ),
    _ours("tau", "tau"),
    _ours("actor_lr", "actor_lr lr"),
    _ours("critic_lr", "critic_lr"),
    _ours(
        "actor_hiddens actor_hidden_activation",
        "actor_layers",
        "",
        translate=values.of_one_network("actor_layers", "actor_hiddens", "actor_hidden_activation"),
    ),
    _ours(
        "critic_hiddens critic_hidden_activation",
        "critic_layers",
        "",
        translate=values.of_one_network("critic_layers", "critic_hiddens", "critic_hidden_activation"),
    ),
    _ours(
        "policy_model policy_model_config",
        "actor_layers",
        "`fcnet_hiddens` and `fcnet_activation`, or `hidden_layer_sizes` and `hidden_activation`",
        translate=values.network("actor_layers"),
    ),
    _ours(
        "Q_model q_model_config",
        "critic_layers value_layers",
        "",
        translate=values.network("critic_layers", "value_layers"),
    ),
    _nothing("use_state_preprocessor", "the lists of layers are whole networks"),
    _ours(
        "optimization",
        "",
        "see [below](#mappings) for its words",
        "`actor_lr`, `critic_lr`, `alpha_lr`",
        translate=values.mapping,
    ),
    _ours("initial_alpha", "alpha_init"),
    _ours("target_entropy", "target_entropy", "auto is null", translate=values.target_entropy),
    _ours("twin_q", "n_critics", "2 for true", translate=values.twin_q),
    _ours("policy_delay", "policy_freq"),
    _ours("target_noise", "policy_noise"),
    _ours("target_noise_clip", "noise_clip"),
    _ours(
        "smooth_target_policy",
        "policy_noise",
        "TD3 always does; false is a `policy_noise` of 0",
        translate=values.smooth_target,
    ),
    _ours("pure_exploration_steps", "start_steps"),
    _ours(
        "exploration_ou_noise_scale exploration_ou_sigma noise_scale exploration_sigma",
        "expl_noise",
        "scale times sigma",
        translate=values.noise_scale,
    ),
    _ours("exploration_ou_theta exploration_theta", "ou_theta"),
    _nothing(
        "exploration_should_anneal exploration_final_scale exploration_noise_type random_starts",
        "the noise of actions is constant, and starts are the environment's; `start_steps` acts at random at first",
    ),
    _ours("min_q_weight", "cql_alpha"),
    _ours("num_actions", "cql_actions"),
    _ours(
        "bc_iters",
        "",
        "CQL learns from the first update on as it does later; 0 needs nothing",
        "-",
        needless="it learns from the first update on as it does later",
    ),
    _ours("lagrangian", "cql_alpha", "false", translate=values.lagrangian),
    _nothing("lagrangian_thresh", "the weight of the penalty is constant"),
    _ours("temperature", "temperature", "", translate=values.temperature),
    _ours(
        "weight_type",
        "weights",
        "exp, or bin: binary",
        translate=lambda value, scope: Meaning({scope.algo("weights")[0]: {"bin": "binary"}.get(value, value)}),
    ),
    _ours(
        "advantage_type",
        "advantage_baseline",
        "mean or max; expectation is mean",
        translate=lambda value, scope: Meaning(
            {scope.algo("advantage_baseline")[0]: {"expectation": "mean"}.get(value, value)}
        ),
    ),
    _ours("max_weight", "most_weight"),
    _ours("n_action_sample", "advantage_actions"),
    _ours("burn_in replay_burn_in", "burn_in"),
    _nothing("zero_init_states", "a sequence begins with the state of its first steps, `burn_in`"),
    _ours(
        "mixer",
        "mixer",
        "qmix is monotonic, vdn is sum",
        translate=lambda value, scope: Meaning(
            {scope.algo("mixer")[0]: {"qmix": "monotonic", "vdn": "sum"}.get(value, value)}
        ),
    ),
    _ours("target_return", "target_return"),
    _ours("num_layers", "n_blocks"),
    _ours("num_heads", "n_heads"),
    _ours("embed_dim", "embed_size"),
)

EVALUATION = (
    _ours(
        "evaluation_interval",
        "",
        "at each checkpoint: `general_cfg.model_save_fre`, counted in iterations; 0 is false",
        "`general_cfg.online_eval: true`",
        translate=values.evaluation_interval,
    ),
    _ours(
        "evaluation_num_episodes evaluation_duration",
        "general_cfg.online_eval_episode",
        translate=lambda value, scope: (
            Meaning({}, "10 episodes") if value == "auto" else Meaning({"general_cfg.online_eval_episode": value})
        ),
    ),
    _nothing(
        "evaluation_duration_unit",
        "always episodes, each from its own fixed seed",
        values=("episodes",),
        refused="evaluation plays whole episodes: general_cfg.online_eval_episode",
    ),
    _ours(
        "evaluation_config",
        "",
        "the settings of the run; DQN and its family have `eval_epsilon`",
        "-",
        translate=values.mapping,
    ),
    _nothing(
        "evaluation_num_workers evaluation_num_env_runners evaluation_parallel_to_training "
        "enable_async_evaluation evaluation_with_async_requests",
        _EVALUATED,
    ),
    _nothing(
        "evaluation_sample_timeout_s evaluation_auto_duration_min_env_steps_per_sample "
        "evaluation_auto_duration_max_env_steps_per_sample evaluation_unhealthy_workers_timeout_s "
        "evaluation_error_after_n_consecutive_skips evaluation_force_reset_envs_before_iteration "
        "always_attach_evaluation_results",
        "an evaluation is never skipped or cut short",
    ),
    _refused(
        "custom_evaluation_function custom_eval_function custom_async_evaluation_function",
        "`general_cfg.callbacks`",
        "write on_evaluation of general_cfg.callbacks (docs/python.md)",
        remark="on_evaluation of a class of your own",
    ),
    _nothing("in_evaluation", "in evaluation, `worker_index` of an `env_config` is 0"),
    _nothing(
        "off_policy_estimation_methods ope_split_batch_by_episode input_evaluation", "scores come from played episodes"
    ),
    _ours(
        "callbacks callbacks_class",
        "general_cfg.callbacks",
        "a class with on_episode_start, on_episode_step, on_episode_end, on_train_result, on_evaluation and "
        "on_checkpoint; see [python.md](python.md#callbacks)",
        translate=values.callbacks,
    ),
    _refused(
        "callbacks_on_algorithm_init callbacks_on_env_runners_recreated "
        "callbacks_on_offline_eval_runners_recreated callbacks_on_checkpoint_loaded "
        "callbacks_on_environment_created callbacks_on_episode_created callbacks_on_episode_start "
        "callbacks_on_episode_step callbacks_on_episode_end callbacks_on_evaluate_start callbacks_on_evaluate_end"
        " callbacks_on_evaluate_offline_start callbacks_on_evaluate_offline_end callbacks_on_sample_end "
        "callbacks_on_train_result",
        "`general_cfg.callbacks`",
        "write a class as general_cfg.callbacks: my_module:MyCallbacks (docs/python.md)",
        remark="methods of that class",
    ),
    _nothing(
        "keep_per_episode_custom_metrics metrics_num_episodes_for_smoothing metrics_smoothing_episodes "
        "smoothing_num_episodes",
        "every episode is recorded, and nothing is smoothed",
    ),
    _nothing(
        "metrics_episode_collection_timeout_s collect_metrics_timeout stats_cls_lookup log_sys_usage", "nothing to set"
    ),
    _nothing("log_gradients", "`grad_norm` is always a metric"),
    _ours(
        "log_level",
        "general_cfg.log_level",
        "WARN is warning; `logs/log.txt` and CSV files are always written",
        translate=values.log_level,
    ),
    _refused(
        "logger_config logger_creator",
        "`general_cfg.loggers`",
        "write general_cfg.loggers: [csv, tensorboard, wandb] (docs/logging.md)",
        {},
        remark=(
            "CSV files are always written, [others](logging.md) as `loggers` names them; "
            "`general_cfg.interact_summary_fre` and `general_cfg.model_summary_fre` thin them out"
        ),
    ),
    _ours(
        "timesteps_per_iteration min_sample_timesteps_per_reporting min_sample_timesteps_per_iteration",
        "general_cfg.iteration_steps",
        "environment steps in an iteration",
    ),
    _nothing(
        "min_iter_time_s min_time_s_per_reporting min_time_s_per_iteration min_train_timesteps_per_reporting "
        "min_train_timesteps_per_iteration",
        "an iteration has `general_cfg.iteration_steps` environment steps; none is ended by a clock",
    ),
    _nothing(
        "export_native_model_files checkpoint_trainable_policies_only",
        "checkpoints are safetensors and JSON, and always complete",
    ),
)

RESOURCES = (
    _ours(
        "num_gpus",
        "general_cfg.device general_cfg.num_gpus_per_learner",
        "cpu, cuda, cuda:1 or auto; a number above 0 is auto, and `general_cfg.num_gpus_per_learner`",
        translate=values.gpus,
    ),
    _ours("gpu devices", "general_cfg.device", "in old files: true is auto, false is cpu", translate=values.one_gpu),
    _ours("num_learners num_learner_workers", "general_cfg.n_learners", "0 needs nothing", translate=values.learners),
    _ours(
        "num_gpus_per_learner num_gpus_per_learner_worker", "general_cfg.num_gpus_per_learner", translate=values.gpus
    ),
    _nothing("num_cpus_per_learner num_cpus_per_learner_worker", "1"),
    _ours("num_cpus_per_worker num_cpus_per_env_runner num_cpus", "general_cfg.num_cpus_per_worker"),
    _ours("redis_address", "general_cfg.ray_address"),
    _ours(
        "num_gpus_per_worker num_gpus_per_env_runner",
        "general_cfg.num_gpus_per_worker",
        "requested of a cluster; policies act on the CPU, which is faster for a few rows",
    ),
    _ours("local_gpu_idx", "general_cfg.device", "as in cuda:1", translate=values.gpu_number),
    _nothing(
        "num_cpus_for_driver num_cpus_for_main_process num_cpus_for_local_worker custom_resources_per_worker "
        "custom_resources_per_env_runner custom_resources_per_learner custom_resources_for_main_process "
        "placement_strategy num_aggregator_actors_per_learner max_requests_in_flight_per_aggregator_actor",
        "a cluster is asked for CPUs and GPUs only",
    ),
    _nothing(
        "memory memory_per_worker object_store_memory object_store_memory_per_worker",
        "computed from the settings; a run that does not fit is refused before it starts",
    ),
    _nothing(
        "extra_python_environs_for_driver extra_python_environs_for_worker",
        "workers inherit the environment variables; `general_cfg.torch_threads` sets the threads",
    ),
    _nothing(
        "ignore_worker_failures ignore_env_runner_failures recreate_failed_workers restart_failed_env_runners "
        "restart_failed_sub_environments max_num_env_runner_restarts delay_between_env_runner_restarts_s "
        "num_consecutive_env_runner_failures_tolerance env_runner_health_probe_timeout_s "
        "env_runner_restore_timeout_s",
        "a lost worker is always replaced, with growing pauses and a limit ([ray.md](ray.md)); an error of the "
        "environment ends the run",
    ),
)

OTHERS = (
    _refused(
        "multiagent",
        "-",
        "write the section policies_cfg, with a policy for each entry",
        {},
        needless="policies_cfg names the policies",
        remark=(
            "taken as it is, with `policies` or `policy_graphs`, `policy_mapping_fn` and `policies_to_train`, in "
            "--config and `Run(config=...)`: [agents.md](agents.md#for-users-of-rllib)"
        ),
    ),
    _refused(
        "policies policy_mapping_fn policies_to_train",
        "-",
        "write the section policies_cfg: each policy names its agents; train: false keeps its weights",
        {},
        [],
    ),
    _nothing(
        "policy_map_capacity policy_map_cache policy_states_are_swappable count_steps_by",
        "all policies are in memory; the settings of each are in its section of `policies_cfg`",
    ),
    _refused(
        "observation_fn algorithm_config_overrides_per_module",
        "-",
        "the settings of each policy are in its section of policies_cfg",
        {},
    ),
    _ours(
        "output",
        "general_cfg.traces",
        "JSON lines in the format of SampleBatch, in `results/traces` of the task directory; see "
        "[traces.md](traces.md). `general_cfg.collect_traj` writes whole episodes",
        translate=values.output,
    ),
    _ours(
        "output_compress_columns", "general_cfg.traces_compress", "with `output`", translate=values.compressed_columns
    ),
    _ours(
        "output_max_file_size", "general_cfg.traces_file_mb", "bytes there, MiB here", translate=values.max_file_size
    ),
    _nothing(
        "output_config output_max_rows_per_file output_write_remaining_data output_write_method "
        "output_write_method_kwargs output_filesystem output_filesystem_kwargs output_write_episodes",
        "`general_cfg.traces` is the folder, and traces are JSON lines",
    ),
    _ours(
        "input",
        "data",
        "a task directory or data files, for the algorithms that learn from them: [offline.md](offline.md); "
        "sampler is none, and dataset what `input_config` names",
        translate=values.recorded,
    ),
    _ours("input_config", "data", "its `paths`", translate=values.data_files),
    _nothing(
        "input_read_method input_read_method_kwargs input_read_schema input_read_episodes "
        "input_read_sample_batches input_read_batch_size input_filesystem input_filesystem_kwargs "
        "input_compress_columns input_spaces_jsonable actions_in_input_normalized postprocess_inputs "
        "shuffle_buffer_size offline_data_class offline_sampling materialize_data materialize_mapped_data "
        "map_batches_kwargs iter_batches_kwargs ignore_final_observation prelearner_class prelearner_buffer_class"
        " prelearner_buffer_kwargs prelearner_module_synch_period prelearner_use_recorded_module_states "
        "dataset_num_iters_per_learner dataset_num_iters_per_eval_runner",
        "data are read into memory once, and checked with the environment ([data_files.md](data_files.md))",
    ),
    _nothing(
        "offline_evaluation_interval num_offline_eval_runners offline_evaluation_type offline_eval_runner_class "
        "offline_loss_for_module_fn offline_evaluation_duration offline_evaluation_parallel_to_training "
        "offline_evaluation_timeout_s num_cpus_per_offline_eval_runner num_gpus_per_offline_eval_runner "
        "custom_resources_per_offline_eval_runner restart_failed_offline_eval_runners "
        "ignore_offline_eval_runner_failures max_num_offline_eval_runner_restarts "
        "offline_eval_runner_restore_timeout_s max_requests_in_flight_per_offline_eval_runner "
        "validate_offline_eval_runners_after_construction offline_eval_runner_health_probe_timeout_s "
        "offline_eval_rl_module_inference_only broadcast_offline_eval_runner_states "
        "offline_eval_batch_size_per_runner",
        "a policy is evaluated by playing; `data_held_out` are data that are kept from learning, with losses of "
        "their own",
    ),
    _refused("algo_class", "`general_cfg.algo_name`", "write the algorithm as general_cfg.algo_name"),
    _nothing(
        "enable_rl_module_and_learner enable_env_runner_and_connector_v2 _enable_rl_module_api "
        "_enable_learner_api _enable_new_api_stack _fake_gpus",
        "switches of RLlib's internals",
    ),
)

MAPPINGS: Mapping[str, tuple[Key, ...]] = {
    "exploration_config": (
        _ours(
            "type",
            "exploration_type",
            "EpsilonGreedy, SoftQ, GaussianNoise, OrnsteinUhlenbeckNoise, or StochasticSampling, which needs nothing",
            translate=values.explored_by,
        ),
        _ours("initial_epsilon", "epsilon_start", "", translate=values.epsilon("start")),
        _ours("final_epsilon", "epsilon_end", "", translate=values.epsilon("end")),
        _ours(
            "epsilon_timesteps", "epsilon_decay", "with `epsilon_schedule: linear`", translate=values.epsilon("decay")
        ),
        _nothing(
            "warmup_timesteps",
            "epsilon falls from the first step on; `learning_starts` are steps before the first update",
        ),
        _ours("temperature", "temperature"),
        _ours("random_timesteps", "start_steps"),
        _ours("stddev", "expl_noise"),
        _ours("ou_base_scale ou_sigma", "expl_noise", "scale times sigma", translate=values.noise_scale),
        _ours("ou_theta", "ou_theta"),
        _nothing("initial_scale final_scale scale_timesteps", "the noise of actions is constant"),
        _refused(
            "initial_stddev sub_exploration", "`noisy`", "noise of the weights is algo_cfg.noisy of DQN and its family"
        ),
    ),
    "replay_buffer_config": (
        _ours("type", "buffer_type", "PER for a class with Prioritized in its name", translate=values.buffer_kind),
        _ours("capacity", "buffer_size", translate=values.capacity),
        _ours("prioritized_replay_alpha alpha", "per_alpha"),
        _ours("prioritized_replay_beta beta", "per_beta"),
        _ours("prioritized_replay_eps", "per_epsilon"),
        _ours("learning_starts", "learning_starts"),
        _ours("replay_burn_in", "burn_in", "with recurrent layers"),
        _ours(
            "replay_sequence_length",
            "lookup_step",
            "with recurrent layers; -1 is `max_seq_len`",
            translate=lambda value, scope: (
                Meaning({}, "max_seq_len is the length")
                if value in (1, -1)
                else Meaning({scope.algo("lookup_step")[0]: value})
            ),
        ),
        _ours("storage_unit", "", "recurrent layers are given sequences, others steps", "-", translate=values.storage),
        _nothing(
            "worker_side_prioritization zero_init_states replay_mode no_local_replay_buffer num_shards "
            "replay_buffer_shards_colocated_with_driver",
            "there is one memory, and the learner computes priorities",
        ),
    ),
    "optimization": (
        _ours("actor_learning_rate", "actor_lr"),
        _ours("critic_learning_rate", "critic_lr"),
        _ours("entropy_learning_rate", "alpha_lr"),
    ),
    "evaluation_config": (
        _ours("explore", "", "evaluation does not explore", "-", translate=values.explored_evaluation),
        _ours("input", "", "evaluation plays episodes", "-", translate=values.evaluation_input),
        _nothing("multiagent", "all policies are played"),
        _refused("env_config", "-", "evaluation plays the environment of the run; write it under env_config", {}),
        _nothing("num_workers num_env_runners num_gpus", _EVALUATED),
    ),
}

STOP = (
    _ours("training_iteration", "general_cfg.max_iteration"),
    _ours(
        "episode_reward_mean episode_return_mean sampler_results/episode_reward_mean "
        "env_runners/episode_reward_mean env_runners/episode_return_mean",
        "general_cfg.stop_return",
        "the mean return of the last training episodes",
    ),
    _ours(
        "timesteps_total num_env_steps_sampled num_env_steps_sampled_lifetime agent_timesteps_total "
        "env_runners/num_env_steps_sampled_lifetime",
        "general_cfg.max_total_step",
        "a run that learns from data alone has `general_cfg.max_update`",
        translate=values.steps_in_total,
    ),
    _ours("time_total_s", "general_cfg.max_time"),
    _ours("episodes_total", "general_cfg.max_episode"),
    _ours(
        "evaluation/episode_reward_mean evaluation/sampler_results/episode_reward_mean "
        "evaluation/env_runners/episode_reward_mean evaluation/env_runners/episode_return_mean",
        "general_cfg.reward_threshold",
        "with `general_cfg.online_eval: true`",
        translate=values.evaluated_return,
    ),
)

EXPERIMENT = (
    _ours(
        "run alg",
        "general_cfg.algo_name",
        "also `--run`; see [below](#algorithms) for those that have another name here",
        translate=values.algorithm,
    ),
    _ours(
        "checkpoint_freq",
        "general_cfg.model_save_fre",
        "with `general_cfg.model_save_unit: iteration`; 0 leaves it as it is: a run always writes checkpoints",
        translate=values.checkpoint_freq,
    ),
    _ours(
        "checkpoint_config",
        "",
        "`{checkpoint_at_end: true}`",
        "`general_cfg.keep_checkpoints`",
        translate=values.checkpoint_config,
    ),
    _nothing("checkpoint_at_end", "a checkpoint is written at the end"),
    _nothing("local_dir storage_path upload_dir", "--into FOLDER names the task directory"),
    _nothing("pass_criteria", "stop has the rules by which a run ends"),
    _ours(
        "num_samples repeat num_trials",
        "",
        "--seeds trains several; with values to try it is `tune_cfg.seeds`, or `tune_cfg.samples` if any are drawn",
        "-",
        translate=values.repeats,
    ),
    _nothing(
        "resources trial_resources resources_per_trial",
        "a run takes what its settings need: `general_cfg.n_workers`, `general_cfg.device`",
    ),
    _nothing(
        "max_failures keep_checkpoints_num checkpoint_score_attr",
        "`general_cfg.keep_checkpoints` is the number of checkpoints, and `resume` goes on",
    ),
    _nothing(
        "restore",
        "`resume NAME` goes on with a run, and general_cfg.start_from begins with the weights of one",
        values=("",),
        refused="resume NAME goes on with a run, and general_cfg.start_from begins with the weights of one",
    ),
)

TABLES: Mapping[str, tuple[Key, ...]] = {
    "Model": MODEL,
    "Environment": ENVIRONMENT,
    "Collecting": COLLECTING,
    "Learning": LEARNING,
    "Algorithms' own settings": ALGORITHMS,
    "Evaluation and results": EVALUATION,
    "Resources and failures": RESOURCES,
    "Several policies, recorded data, internals": OTHERS,
    "Stop rules": STOP,
    "Experiments in a file": EXPERIMENT,
}
"""Heading of the page -> its rows."""

LAST = ("replay_buffer_config.type", "training_intensity", "target_network_update_freq", *STOP[2].words())
"""Words that are translated after all others, whose values they depend on."""


def _by_word(*tables: tuple[Key, ...], above: str = "") -> Iterator[tuple[str, Row]]:
    for table in tables:
        yield from ((above + word, key.row) for key in table for word in key.words())


CONFIG: Mapping[str, Row] = dict(
    [
        *_by_word(ENVIRONMENT, COLLECTING, LEARNING, ALGORITHMS, EVALUATION, RESOURCES, OTHERS),
        *_by_word(MODEL, above="model."),
        *(pair for name, table in MAPPINGS.items() for pair in _by_word(table, above=f"{name}.")),
    ]
)
"""Each word of --config, or of config in a file -> its row; those of a mapping behind its name and a point."""
NESTED = ("model", *MAPPINGS)
"""Mappings whose words are translated one by one."""
OF_MODEL_BESIDE_IT = ("vf_share_layers", "fcnet_hiddens", "fcnet_activation", "use_lstm", "free_log_std")
"""Words of `model` that old files have beside it."""
RULES: Mapping[str, Row] = dict(_by_word(STOP))
"""Stop rule -> its row."""
PARTS: Mapping[str, Row] = dict(_by_word(EXPERIMENT))
"""Part of an experiment -> its row; env, stop and config are parts, too."""


def row_of(word: str) -> Row | None:
    """Returns what a word is here: of config, a stop rule, or a part of an experiment; None for any other."""
    if word in OF_MODEL_BESIDE_IT:
        return CONFIG[f"model.{word}"]
    rows = (table[word] for table in (CONFIG, RULES, PARTS) if word in table)
    return next(rows, None)


def plain(text: str) -> str:
    """Returns a text of the page as a part of a message: without links and quotes."""
    text = re.sub(r"\[\w+\]\(#[^)]*\)", "docs/rllib.md", text)
    text = re.sub(r"\[(\w+\.md)\]\([^)]*\)", r"docs/\1", text)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "")


def _hints() -> Iterator[tuple[str, Row]]:
    """Yields each word, in lower case, with its row as messages have it. A word that two mappings have means something
    else in each."""
    keys = [key for table in (*MAPPINGS.values(), *TABLES.values()) for key in table]
    nested = Counter(word for table in MAPPINGS.values() for key in table for word in key.words())
    for key in keys:
        row = Row(key.row.settings, plain(key.row.remark), refused=plain(_answer(key)))
        yield from ((word.lower(), row) for word in key.words() if nested[word] < 2)


def _answer(key: Key) -> str:
    """Returns what to do in place of words without a setting of their own."""
    here = key.here.strip("-")
    parts = (f"here it is {here}" if here else "", key.row.remark)
    return key.row.refused or key.row.needless or ": ".join(part for part in parts if part)


HINTS: Mapping[str, Row] = dict(_hints())
"""Each word, of a mapping or not -> its row as messages have it."""
