"""The general_cfg section: every default, one line of help under each."""

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from config.schema import Int, PositiveInt, Problem, Strict, lower

Endless = Annotated[Int, Field(ge=-1)]
_ADDRESS = re.compile(r"auto|[^:/\s]+:\d{1,5}")


def _address(text: str) -> str:
    port = text.rpartition(":")[2]
    if not _ADDRESS.fullmatch(text) or (port.isdigit() and not 0 < int(port) < 2**16):
        raise ValueError("auto, or HOST:PORT as `ray start --head` prints it")
    return text


class GeneralConfig(Strict):
    """What to train, on what, for how long, and what to keep of it."""

    ALIASES: ClassVar = {
        "max_steps": "max_step",
        "train_eps": "max_episode",
        "n_interactors": "n_workers",
        "eval_eps": "online_eval_episode",
        "policy_summary_fre": "model_summary_fre",
    }

    # what
    algo_name: str = "DQN"
    """Algorithm: a folder under algos/ (case does not matter), or my_pkg.my_algo with --allow-import my_pkg."""
    env_name: str = "gym"
    """Kind of environment: a folder under envs/, or my_pkg.my_env with --allow-import my_pkg. The environment
    itself is env_cfg.id."""
    mode: Literal["train", "test"] = "train"
    """train, or test a saved model."""
    device: Annotated[str, Field(pattern=r"^(cpu|cuda(:\d+)?|auto)$")] = "cpu"
    """cpu, cuda, cuda:1, or auto (cuda where there is one)."""
    seed: Annotated[Int, Field(ge=0, lt=2**63)] = 0
    """Makes the run repeatable. 0 draws a seed, prints it and records it."""

    # how long: the first rule that is met stops the run
    max_episode: Endless = 100
    """Episodes of training; in test mode the number of test episodes. -1: no limit."""
    max_step: Endless = 200
    """Steps after which an episode is cut off (truncated, not terminated). -1: the environment's own limit."""
    max_total_step: Endless = -1
    """Environment steps of training, over all rows. -1: no limit."""
    max_update: Endless = -1
    """Gradient updates of training. -1: no limit."""
    max_time: Annotated[float, Field(ge=-1)] = -1
    """Seconds of training. -1: no limit. A run that a clock stops is not repeatable to the byte."""
    reward_threshold: float | None = None
    """Mean return of online evaluation at which training stops, once reward_threshold_limit evaluations in a row reach
    it. null: never."""
    reward_threshold_limit: PositiveInt = 2
    """Number of consecutive evaluations at or above reward_threshold that stop the run. 1 stops at the first, which may
    be luck."""

    # saving and evaluation
    model_save_fre: PositiveInt = 500
    """Save a checkpoint every so many updates (or environment steps, see model_save_unit)."""
    model_save_unit: Annotated[Literal["update", "step"], BeforeValidator(lower)] = "update"
    """Unit of model_save_fre: update (gradient updates) or step (environment steps)."""
    keep_checkpoints: Endless = -1
    """Number of checkpoints that are kept, newest first; best is always kept. -1: all. What the replay memory held is
    kept for as many, or for the newest 5: older checkpoints can be tested, but training cannot resume from them."""
    save_best_model: bool = True
    """Keep the model with the best evaluation as models/best."""
    online_eval: bool = False
    """Evaluate each time that a checkpoint is saved. Without it, the run is evaluated once, at its end."""
    online_eval_episode: PositiveInt = 10
    """Episodes of an evaluation, each from its own start."""

    # loading
    load_checkpoint: bool = False
    """Load a model: to test it (mode: test), or to go on training (mode: train)."""
    load_path: str | None = None
    """Name of a folder under tasks/, or a path to a task directory. Read only when load_checkpoint is true."""
    load_model_step: Literal["best", "latest"] | Annotated[Int, Field(ge=0)] = "best"
    """Which model: best, latest, or an update step. Training goes on from latest unless a step is written here."""

    # processes
    mp_backend: Literal["single", "ray"] = "single"
    """single: one process; ray: workers and learners in processes of their own."""
    n_workers: PositiveInt = 1
    """Processes that collect, with mp_backend ray."""
    n_learners: PositiveInt = 1
    """Processes that learn, with mp_backend ray."""
    share_buffer: bool = True
    """Several learners learn from one memory, each its part of every batch; there is no other way here."""
    run_ahead: Annotated[Int, Field(ge=0, le=64)] | None = None
    """With mp_backend ray: chunks that may wait to be learned from while workers go on collecting. 0: workers wait for
    the weights that follow from what they have collected, as in one process. null: 2 for A3C and for algorithms with a
    replay memory, and 0 for others."""
    ray_address: Annotated[str, AfterValidator(_address)] | None = None
    """A running Ray cluster, as HOST:PORT or auto. null: Ray is started here, for this run alone."""
    num_cpus_per_worker: Annotated[float, Field(ge=0)] = 1
    """Cores that a worker asks a cluster for; parts of one are allowed."""
    num_gpus_per_learner: Annotated[float, Field(ge=0)] = 0
    """GPUs that a learner asks Ray for; parts of one are allowed. device says whether it uses them."""
    torch_threads: Annotated[Int, Field(ge=0)] = 0
    """Number of torch's threads. 0 chooses: one for small networks and for workers; all cores for learning from images,
    shared by several learners."""

    # what to keep and show
    collect_traj: bool = False
    """Write every episode to results/trajs.pkl."""
    save_fig: bool = True
    """Draw results/learning_curve.png."""
    show_fig: bool = False
    """Open the figure in a window at the end."""
    interact_summary_fre: PositiveInt = 1
    """Episodes between two entries in TensorBoard and in the log."""
    model_summary_fre: PositiveInt = 100
    """Updates between two entries of the losses in TensorBoard."""
    env_timeout: Annotated[float, Field(ge=0)] = 300
    """Seconds that one step of the environment may take before the run is stopped with an error. 0: no limit."""

    def share(self, step: int, episode: int, update: int) -> float:
        """How much of the planned run this is, by whichever limit is nearest; 0 where there is none."""
        limits = ((step, self.max_total_step), (episode, self.max_episode), (update, self.max_update))
        return min(1.0, max((done / limit for done, limit in limits if limit > 0), default=0.0))

    def problems(self) -> Iterator[Problem]:
        if self.load_checkpoint and not self.load_path:
            yield Problem("load_path", "load_checkpoint is true, so load_path must name a task directory")
        if self.mode == "test" and not self.load_checkpoint:
            yield Problem("load_checkpoint", "mode test needs a model: load_checkpoint: true and load_path: NAME")
        if self.max_step == 0:
            yield Problem("max_step", "an episode needs at least one step; -1 means no limit of our own")
        if self.mode == "train":
            limits = (self.max_episode, self.max_total_step, self.max_update, self.max_time)
            if 0 in limits:
                yield Problem("max_episode", "a limit of 0 trains nothing; -1 means no limit")
        yield from self._problems_of_processes()
        if self.reward_threshold is not None and not self.online_eval:
            yield Problem("reward_threshold", "is compared with online evaluation; set online_eval: true", unread=True)

    def _problems_of_processes(self) -> Iterator[Problem]:
        for key in ("n_workers", "n_learners"):
            if getattr(self, key) > 1 and self.mp_backend == "single":
                message = f"{getattr(self, key)} processes need mp_backend: ray; single has one of everything"
                yield Problem(key, message, unread=True)
        if not self.share_buffer:
            yield Problem("share_buffer", "learners have one memory in common here, and average their gradients")
        if self.mp_backend == "single":
            for key in ("run_ahead", "ray_address"):
                if getattr(self, key) is not None:
                    yield Problem(key, "is for several processes; set mp_backend: ray", unread=True)
        if self.num_gpus_per_learner and self.device == "cpu":
            message = "learners on device cpu use no GPU; set device: cuda"
            yield Problem("num_gpus_per_learner", message, unread=True)
