"""Section general_cfg: what to train, for how long, and what to keep."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from config import machine
from config.foreign import names as foreign_names
from config.model.course import RunLength
from config.model.curriculum import Curriculum
from config.model.fields import Int, Positive, PositiveInt, Problem, Strict, lower, switch
from config.model.inherit import Condition
from config.model.kernels import Kernels
from config.own import objects as own
from config.program import PROGRAM
from config.read.stores import url
from config.tell.language import tr
from config.tell.names import did_you_mean

LOGGERS = ("csv", "tensorboard", "wandb", "mlflow", "swanlab", "trackio")
"""Loggers that come with the program."""
HOW_TO_LOAD = ("load_checkpoint", "load_path", "load_model_step")
"""Settings that name the checkpoint to load; they do not change the run."""
HARMLESS = (
    "mode", "save_fig", "show_fig", "collect_traj", "collect_format", "profile", "traces", "traces_compress",
    "traces_file_mb", "video_fre", "video_format", "log_level", "result_names", "loggers", "interact_summary_fre",
    "model_summary_fre", "keep_checkpoints", "save_best_model", "env_timeout", "torch_threads", "device", "ray_address",
    "num_cpus_per_worker", "num_gpus_per_worker", "num_gpus_per_learner", "mp_backend", "n_workers", "n_learners",
    "run_ahead", "compile", "kernels", "storage", "save_minutes",
)  # fmt: skip
"""Settings that change no number, or that are compared as facts of the checkpoint."""
OF_COLLECTED = ("collect_traj", "collect_format", "traces", "traces_compress", "traces_file_mb", "video_fre")
"""Settings about the episodes that training collects."""
PLANNED_LIMITS = ("max_episode", "max_total_step", "max_update", "max_iteration")
"""Settings that tell how long a training run is planned to be."""
RUN_LIMITS = (*PLANNED_LIMITS, "max_time")
"""Settings that end a training run."""

Endless = Annotated[Int, Field(ge=-1)]
_ADDRESS = re.compile(r"auto|[^:/\s]+:\d{1,5}")


def address(text: str) -> str:
    """Returns the address of a Ray cluster. Raises ValueError if it is none."""
    port = text.rpartition(":")[2]
    if not _ADDRESS.fullmatch(text) or (port.isdigit() and not 0 < int(port) < 2**16):
        raise ValueError(tr("auto, or HOST:PORT as `ray start --head` prints it"))
    return text


def task_folder(text: str) -> str:
    """Returns the path of a folder in the task directory. Raises ValueError if it leads elsewhere."""
    parts = text.split("/")
    if not all(re.fullmatch(r"[\w-][\w.-]*", part) for part in parts) or parts[0] in ("models", "tb_logs"):
        raise ValueError(tr("a folder in the task directory, such as results/traces; models and tb_logs are taken"))
    return text


class GeneralConfig(Strict):
    """Algorithm, environment, limits, evaluation, checkpoints, processes and output of a run."""

    ALIASES = foreign_names.aliases("general_cfg")
    READ_WITH = {
        "n_workers": ("mp_backend", ("ray",)),
        "n_learners": ("mp_backend", ("ray",)),
        "run_ahead": ("mp_backend", ("ray",)),
        "ray_address": ("mp_backend", ("ray",)),
        "num_gpus_per_learner": Condition(lambda cfg: cfg.gpu_device, tr("no gpu device")),
        "num_gpus_per_worker": ("ray_address", ()),
        "collect_format": ("collect_traj", (True,)),
        "traces_compress": ("traces", ()),
        "traces_file_mb": ("traces", ()),
        "reward_threshold": ("online_eval", (True,)),
        "reward_threshold_limit": ("online_eval", (True,)),
    }

    # what
    algo_name: str = "DQN"
    """Algorithm: a folder under algos/ (case is ignored), or my_pkg.my_algo with --allow-import my_pkg."""
    env_name: str = "gym"
    """Kind of environment: a folder under envs/, or my_pkg.my_env with --allow-import my_pkg. The environment
    itself is env_cfg.id."""
    preset: str | None = "auto"
    """Preset for settings that are not written: the name of a file below presets/, such as CartPole-v1/PPO, or default,
    that of the algorithm for the environment or its family; without one, the length and the rows of a run of the
    algorithm. Its limits are left out where another one than max_time is written. null, or none: the defaults alone.
    auto: null with a YAML file, default without one and in Python."""
    mode: Literal["train", "test"] = "train"
    """train, or test a saved model."""
    device: Annotated[str, Field(pattern=r"^(cpu|cuda(:\d+)?|auto)$")] = "cpu"
    """cpu, cuda, cuda:1, or auto (cuda if available)."""
    seed: Annotated[Int, Field(ge=0, lt=2**63)] = 0
    """Random seed; makes the run repeatable. 0 draws a seed, prints it and records it."""

    # how long: the first limit that is reached ends the run
    max_episode: Endless = 100
    """Number of training episodes; -1: no limit. Left out, it is -1 if another limit is set. A round is played to its
    end, and may end more episodes than are missing: with whole windows, or several rows. In test mode the number of
    test episodes; left out, online_eval_episode."""
    max_step: Endless = 200
    """Steps after which an episode is truncated; -1: the environment's own limit. Left out, it is -1 if another limit
    than max_episode is set."""
    max_total_step: Endless = -1
    """Number of environment steps of training, over all rows. -1: no limit."""
    max_update: Endless = -1
    """Number of gradient updates of training. -1: no limit."""
    max_iteration: Endless = -1
    """Number of training iterations of iteration_steps each. -1: no limit."""
    iteration_steps: PositiveInt = 1000
    """Number of environment steps in an iteration, which is a row of results/progress.csv. It ends with the first
    fragment that reaches this number."""
    max_time: Annotated[float, Field(ge=-1)] = -1
    """Seconds of training. -1: no limit. A run that the clock ends is not repeatable to the byte."""
    reward_threshold: float | None = None
    """Mean return of online evaluation at which training stops, once reward_threshold_limit evaluations in a row reach
    it. null: never."""
    reward_threshold_limit: PositiveInt = 2
    """Number of consecutive evaluations at or above reward_threshold that stop the run. 1 stops at the first, which may
    be luck."""
    stop_return: float | None = None
    """Mean return of the training episodes of an iteration at which training stops. null: never. These episodes are
    played with exploration; reward_threshold looks at evaluations."""

    # saving and evaluation
    model_save_fre: PositiveInt = 500
    """Number of updates between checkpoints (or environment steps or iterations, see model_save_unit)."""
    model_save_unit: Annotated[Literal["update", "step", "iteration"], BeforeValidator(lower)] = "update"
    """Unit of model_save_fre: update (gradient updates), step (environment steps) or iteration (see
    iteration_steps)."""
    save_minutes: Annotated[float, Field(ge=0)] = 10
    """Minutes since the last save after which a run is saved between two save points, at the end of a round: what a
    machine that stops can lose. The next checkpoint replaces that one. 0: never, model_save_fre alone counts."""
    keep_checkpoints: Endless = -1
    """Number of checkpoints that are kept, newest first; best is always kept. -1: all. What the replay memory held is
    kept for as many, or for the newest 5: older checkpoints can be tested, but training cannot resume from them."""
    save_best_model: bool = True
    """Keep the model with the best evaluation as models/best."""
    score_policy: str | None = None
    """Policy of policies_cfg whose mean return is the score of an evaluation: it decides which model is best, and is
    compared with reward_threshold; in training it is compared with stop_return. null: the sum of the returns of all
    agents."""
    online_eval: bool = False
    """Evaluate whenever a checkpoint is saved. If false, the last checkpoints are evaluated when the run ends."""
    online_eval_episode: PositiveInt = 10
    """Number of episodes per evaluation, each with its own start state."""
    eval_env: dict[str, Any] = {}
    """Settings of env_cfg that evaluations, tests and films have in place of those of training, such as
    {is_slippery: false}. Observations and actions stay the same."""
    explore: bool = False
    """Evaluations and tests act with the exploration that training has at that time: a stochastic policy draws its
    actions, start_steps and epsilon are random actions. Data to learn from (collect_traj) need it: without it they have
    one action for each state."""

    # loading
    load_checkpoint: bool = False
    """Load a model: to test it (mode: test), or to resume training (mode: train)."""
    load_path: str | None = None
    """Name of a folder under tasks/, or a path to a task directory. Read only when load_checkpoint is true."""
    load_model_step: Literal["best", "latest"] | Annotated[Int, Field(ge=0)] = "best"
    """Model to load: best, latest, or an update step. Training resumes from latest unless a step is given."""
    start_from: Annotated[str, Field(min_length=1)] | None = None
    """Run whose weights a new run starts with: a folder under tasks/, or a path. Weights of the same name and shape are
    taken from its best model, or its newest one, such as the policy of BC for PPO; a line of output names the others.
    Everything else is new. With several policies each takes those of its name, unless policies_cfg.NAME.load is set."""

    # processes
    mp_backend: Literal["single", "ray"] = "single"
    """single: one process; ray: workers and learners in separate processes."""
    n_workers: PositiveInt = 1
    """Number of processes that collect, with mp_backend ray."""
    n_learners: PositiveInt = 1
    """Number of processes that learn, with mp_backend ray."""
    share_buffer: bool = True
    """Several learners share one memory and each batch; false is not supported."""
    run_ahead: Annotated[Int, Field(ge=0, le=64)] | None = None
    """Number of chunks (batches of work) that may be between workers and learners before workers wait: being collected,
    added, or queued (ray only). 0: workers wait for the updated weights, as in one process. null: 2 for IMPALA,
    APPO and algorithms with a replay memory, 0 for others."""
    ray_address: Annotated[str, AfterValidator(address)] | None = None
    """Address of a running Ray cluster, as HOST:PORT or auto. null: Ray is started here, for this run alone."""
    num_cpus_per_worker: Annotated[float, Field(ge=0)] = 1
    """CPUs requested per worker in a cluster; fractions are allowed."""
    num_gpus_per_worker: Annotated[float, Field(ge=0)] = 0
    """GPUs requested per worker in a cluster, so that its environments can use them; fractions are allowed. The policy
    acts on the CPU."""
    num_gpus_per_learner: Annotated[float, Field(ge=0)] = 0
    """GPUs requested per learner; fractions are allowed. They are used if device is cuda or auto."""
    torch_threads: Annotated[Int, Field(ge=0)] = 0
    """Number of torch threads. 0 chooses, as many as there are cores at most, which learners share: one for each 8
    million that a minibatch times the weights of its largest layer gives, so two for 256 samples and 256 x 256; all for
    images. A resumed run keeps its number."""

    compile: Annotated[Literal["auto", "on", "off"], BeforeValidator(switch)] = "auto"
    """Compile each gradient step, from the loss to the optimizer, to machine code, which makes updates two to three
    times as fast. The first run of some sizes waits 10 to 60 seconds for it; later ones find it in the user's cache
    (docs/speed.md). On a GPU its kernels are captured as one CUDA graph, in a moment. auto: where at least 10,000
    updates are planned or a GPU learns, in one process, and the algorithm, its layers, its optimizer (all but rmsprop)
    and this machine can. The choice is recorded, and a resumed run keeps it."""
    kernels: Kernels | None = None
    """Amounts of work from which kernels take the place of torch's own, as {tanh: 32768, few_rows: 262144}; {}: torch's
    own alone. null: as a measurement on this processor says, which is made once and kept in the user's cache
    (docs/speed.md). The choice is recorded, and a resumed run keeps it."""

    # code of your own
    callbacks: str | None = None
    """Class that sees episodes and results, as my_module:MyCallbacks with --allow-import my_module. null: none."""
    curriculum: Curriculum | None = None
    """Phases of training, as {metric: return_mean, method: set_phase, phases: [{below: 100, value: 0}, {value: 1}]}:
    before each reset, the environment's method gets the value of the phase. null: none."""

    # what to keep and show
    storage: Annotated[str, AfterValidator(url)] | None = None
    """URL of a folder in a store, such as s3://bucket/prefix: the task directory is copied there while it trains, below
    its own name (docs/storage.md). --into s3://bucket/prefix/NAME names both. null: none."""
    loggers: list[Annotated[str, Field(min_length=1)]] = ["csv", "tensorboard"]
    """Destinations of the numbers of training: csv (the files in results/, always), tensorboard (tb_logs/), wandb,
    mlflow, swanlab, trackio, or a class of your own, as my_module:MyLogger with --allow-import my_module. The services
    write files and send nothing, unless their own environment variables say so (docs/logging.md)."""
    collect_traj: bool = False
    """Write every episode to results/trajs.pkl."""
    collect_format: Literal["pkl", "npz", "jsonl", "minari"] = "pkl"
    """Format of these files: pkl (JoyRL's), npz (arrays, results/trajs_0.npz), jsonl (an episode a line,
    results/trajs.jsonl), minari (npz, and a data set of Minari, results/trajs.minari, when the run ends). All of them
    are data to learn from (docs/data_files.md)."""
    traces: Annotated[str, AfterValidator(task_folder)] | None = None
    """Folder in the task directory for the steps of training as JSON lines, in the format of RLlib's SampleBatch, such
    as results/traces. null: none. joystick.read_traces reads them (docs/traces.md)."""
    traces_compress: list[Literal["obs", "new_obs", "actions", "rewards"]] = ["obs", "new_obs"]
    """Columns of the traces that are compressed: base64 of zlib of a NumPy file. []: none, every line is plain JSON."""
    traces_file_mb: Positive = 64
    """Size in MiB at which a new trace file is started."""
    video_fre: Annotated[Int, Field(ge=0)] = 0
    """Number of training episodes between videos: every video_fre-th episode is repeated from its seed and its actions
    in an environment that draws, into videos/. 0: none. No number of the training changes. env_cfg.render_mode is
    not needed."""
    video_format: Annotated[Literal["gif", "mp4"], BeforeValidator(lower)] = "gif"
    """Format of videos: gif, or mp4, which is smaller and needs the package imageio-ffmpeg."""
    result_names: Annotated[Literal["joystick", "rllib"], BeforeValidator(lower)] = "joystick"
    """Names of the entries of a result, in results/result.json, in callbacks and in Python. rllib: RLlib's names too
    (episode_reward_mean, timesteps_total, training_iteration, ...; docs/python.md)."""
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(lower)] = "info"
    """Lowest level of what logs/log.txt contains, and of the notes that the terminal shows. debug adds the shapes of
    the first data, and size and duration of each checkpoint. The terminal shows warnings at any level."""
    save_fig: bool = True
    """Draw results/learning_curve.png; of a group or a tuning, learning_curves.png."""
    show_fig: bool = False
    """Show the figure in a window when the run ends."""
    interact_summary_fre: PositiveInt = 1
    """Number of episodes between entries in TensorBoard and in the log. TensorBoard gets fewer of them after 1,000."""
    model_summary_fre: PositiveInt = 100
    """Number of updates between entries of the losses in TensorBoard, which gets fewer of them after 1,000."""
    profile: bool = False
    """Time the parts of the training: environment, acting, storing, sampling, forward and backward pass, optimizer,
    logging, evaluation, saving. A table at the end, in run.json and in the report; also --profile. With Ray, only this
    process is timed."""
    env_timeout: Annotated[float, Field(ge=0)] = 300
    """Seconds that one environment step may take before the run ends with an error. 0: no limit."""

    def own(self) -> Iterator[tuple[str, str]]:
        if self.callbacks:
            yield "callbacks", self.callbacks
        yield from (("loggers", name) for name in self.loggers if name not in LOGGERS)

    def problems(self) -> Iterator[Problem]:
        if self.load_checkpoint and not self.load_path:
            message = tr("load_checkpoint is true, so load_path must name a task directory")
            yield Problem("load_path", message, depends_on=("load_checkpoint",))
        if self.mode == "test" and not self.load_checkpoint:
            message = tr(
                "mode test needs a model: {PROGRAM} test NAME, or load_checkpoint: true and load_path: NAME",
                PROGRAM=PROGRAM,
            )
            yield Problem("load_checkpoint", message, depends_on=("mode",))
        if self.max_step == 0:
            yield Problem("max_step", tr("an episode needs at least one step; -1 means the environment's own limit"))
        for key in RUN_LIMITS if self.mode == "train" else ():
            if getattr(self, key) == 0:
                yield Problem(key, tr("a limit of 0 trains nothing; -1 means no limit"), depends_on=("mode",))
        in_cluster = self.mode == "train" and self.mp_backend == "ray" and self.ray_address is not None
        if not in_cluster and (why := machine.missing_device(self.device)):
            yield Problem("device", why, depends_on=("mode", "mp_backend", "ray_address"))
        yield from self._problems_of_code()
        if not self.share_buffer:
            yield Problem("share_buffer", tr("false is not supported: all learners share one memory"))

    def _problems_of_code(self) -> Iterator[Problem]:
        if self.callbacks and not own.is_own(self.callbacks):
            yield Problem("callbacks", own.missing(self.callbacks))
        for name in dict.fromkeys(self.loggers):
            if name not in LOGGERS and not own.is_own(name):
                yield Problem(
                    "loggers",
                    tr(
                        "{name!r} is none of {loggers}{near}",
                        name=name,
                        loggers=", ".join(LOGGERS),
                        near=did_you_mean(name, LOGGERS),
                    ),
                )
            if self.loggers.count(name) > 1:
                yield Problem("loggers", tr("{name} is named twice", name=name))
        if "csv" not in self.loggers:
            yield Problem("loggers", tr("csv cannot be left out: the report, compare and a resume read its files"))
        for fault in self.curriculum.faults() if self.curriculum else ():
            yield Problem("curriculum", fault)
        if self.curriculum and self.curriculum.metric == "evaluation" and not self.online_eval:
            yield Problem("curriculum", tr("metric evaluation needs online_eval: true"), depends_on=("online_eval",))

    @property
    def length(self) -> RunLength:
        """Planned length of training."""
        return RunLength(self.max_total_step, self.max_episode, self.max_update, self.max_iteration)

    @property
    def gpu_device(self) -> bool:
        """True if learners may use a GPU."""
        return self.device != "cpu"

    @property
    def gpus(self) -> float:
        """GPUs requested per learner; 0 with device cpu."""
        return self.num_gpus_per_learner if self.gpu_device else 0
