# %% [markdown]
# # A first run in a notebook
#
# From an empty folder to an environment of your own that is trained, filmed, compared over three seeds and played, without leaving the notebook. All of it takes a few minutes.
#
# Where Joystick is not installed, the first cell installs it: from the clone that this notebook is in. In a service such as Colab, where there is no clone, write the address of the repository in its place, with `git+` before it.

# %%
import importlib
import subprocess
import sys
from importlib.util import find_spec

SOURCE = "../.."  # a folder, or "git+https://..."
if find_spec("joystick") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", SOURCE], check=True)
    importlib.invalidate_caches()

# %% [markdown]
# ## An environment
#
# A ball falls, and a paddle at the bottom should be below it when it lands. The class has the interface of gymnasium: two spaces, `reset` and `step`; `render` is for videos only.

# %%
import gymnasium
import numpy as np

import joystick

ROWS, COLUMNS = 10, 7


class Catch(gymnasium.Env):
    """A ball falls, and a paddle at the bottom should catch it."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}
    observation_space = gymnasium.spaces.Box(0, 1, (3,))
    action_space = gymnasium.spaces.Discrete(3)  # left, stay, right

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)  # then draw only from self.np_random
        self.row, self.ball, self.paddle = 0, int(self.np_random.integers(COLUMNS)), COLUMNS // 2
        return self.look(), {}

    def step(self, action):
        self.paddle = min(max(self.paddle + int(action) - 1, 0), COLUMNS - 1)
        self.row += 1
        landed = self.row == ROWS - 1
        reward = (1.0 if self.ball == self.paddle else -1.0) if landed else 0.0
        return self.look(), reward, landed, False, {}

    def look(self):
        return np.array([self.row / (ROWS - 1), self.ball / (COLUMNS - 1), self.paddle / (COLUMNS - 1)], np.float32)

    def render(self):
        image = np.full((ROWS, COLUMNS, 3), 30, np.uint8)
        image[self.row, self.ball] = (240, 200, 60)
        image[ROWS - 1, self.paddle] = (80, 160, 240)
        return image.repeat(30, axis=0).repeat(30, axis=1)


# %% [markdown]
# ## A run
#
# `train` shows how far it is, with the curve of the returns, and leaves the result below the cell. Each call goes on where the one before has ended. Everything is written to a folder in `tasks/`.

# %%
run = joystick.Run("PPO", Catch, seed=1, general_cfg={"max_total_step": 200_000}, algo_cfg={"lr": 2e-3})
result = run.train(5000)

# %%
run.plot()

# %%
run.film(episodes=3)

# %% [markdown]
# ## Stop, and go on
#
# The stop button of the notebook ends `train` after the running round, and saves: nothing is lost, and the next call goes on. Here a timer presses the button, so that the notebook can run without you; without `try` the sentence stands below the cell.

# %%
import _thread
import threading

threading.Timer(1.0, _thread.interrupt_main).start()
try:
    run.train(100_000)
except KeyboardInterrupt as stopped:
    print(stopped)

# %%
result = run.train(3000)

# %% [markdown]
# `close` saves, and writes the report of the run. A run at the end of a cell is shown as cards and curve.

# %%
run.close()
run

# %% [markdown]
# ## Three seeds
#
# One run may be luck. Does a learning rate of 0.002 do better than one of 0.0002? `joystick.train` trains a run for each seed to its end, several at once, each in a process of its own, and evaluated every 64 updates. The stop button works here, too: `joystick.train(resume=...)` goes on with such a group.

# %%
short = {"max_total_step": 12_000, "model_save_fre": 64, "online_eval_episode": 20}
fast = joystick.train("PPO", Catch, seeds=3, general_cfg=short, algo_cfg={"lr": 2e-3})

# %%
slow = joystick.train("PPO", Catch, seeds=3, general_cfg=short, algo_cfg={"lr": 2e-4})

# %% [markdown]
# ## Which one is better?
#
# The verdict takes the seeds into account: what three seeds cannot tell apart is called noise. `print(comparison)` shows more, `comparison.plot()` is a figure, and names of other runs in `tasks/` can be compared as well.

# %%
comparison = joystick.compare([fast, slow])
comparison

# %% [markdown]
# ## The best one plays

# %%
fast.film(episodes=3)

# %% [markdown]
# A trained policy is a value of Python: it takes an observation as the environment gives it, and returns an action.

# %%
policy = joystick.load(fast.best)
env, total = Catch(), 0.0
for episode in range(20):
    observation, _ = env.reset(seed=episode)
    policy.reset()
    done = False
    while not done:
        observation, reward, terminated, truncated, _ = env.step(policy.act(observation))
        total += reward
        done = terminated or truncated
total / 20  # mean return of 20 episodes

# %% [markdown]
# Where to go on: [a run in Python](../python.md), [environments of your own](../environments.md), [tuning](../tuning.md). On the command line `python main.py watch` shows all runs in a browser.
