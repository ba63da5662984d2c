# %% [markdown]
# # 在 notebook 里完成第一次训练
#
# 从一个空文件夹开始，写一个自己的环境，训练它、录制视频、用三个种子比较两种设置，最后让训练好的策略上场，全程不离开 notebook，只需几分钟。
#
# 如果还没有安装 Joystick，第一个单元格会安装它：默认安装本 notebook 所在的克隆仓库。在 Colab 这类没有克隆仓库的服务里，请把 `SOURCE` 换成仓库地址，前面加上 `git+`。

# %%
import importlib
import subprocess
import sys
from importlib.util import find_spec

SOURCE = "../.."  # 文件夹，或 "git+https://..."
if find_spec("joystick") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", SOURCE], check=True)
    importlib.invalidate_caches()

# %% [markdown]
# ## 环境
#
# 一个球从上面落下，落地时底部的挡板应该正好在它下面。这个类使用 gymnasium 的接口：两个空间、`reset` 和 `step`；`render` 只用于视频。

# %%
import gymnasium
import numpy as np

import joystick

ROWS, COLUMNS = 10, 7


class Catch(gymnasium.Env):
    """球落下，底部的挡板要接住它。"""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}
    observation_space = gymnasium.spaces.Box(0, 1, (3,))
    action_space = gymnasium.spaces.Discrete(3)  # 左、不动、右

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)  # 之后只从 self.np_random 取随机数
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
# ## 训练
#
# `train` 在单元格下方显示进度和回报曲线，结束后留下结果。每次调用都从上一次结束的地方接着训练。所有内容都写进 `tasks/` 里的一个文件夹。

# %%
run = joystick.Run("PPO", Catch, seed=1, general_cfg={"max_total_step": 200_000}, algo_cfg={"lr": 2e-3})
result = run.train(5000)

# %%
run.plot()

# %%
run.film(episodes=3)

# %% [markdown]
# ## 停止与继续
#
# 按下 notebook 的停止按钮后，`train` 会在当前一轮结束时停下并保存：什么都不会丢失，下一次调用接着训练。这里由定时器代替你按按钮，使整个 notebook 可以自动运行；不写 `try` 时，这句话会直接显示在单元格下方。

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
# `close` 保存并写出这次运行的报告。把 run 放在单元格末尾，就会显示数据卡片和曲线。

# %%
run.close()
run

# %% [markdown]
# ## 三个种子
#
# 一次运行的结果可能只是运气。学习率 0.002 比 0.0002 更好吗？`joystick.train` 为每个种子训练一次，直到结束；几个运行同时进行，各在自己的进程里，每 64 次更新评估一次。停止按钮在这里同样有效：`joystick.train(resume=...)` 会接着训练这一组。

# %%
short = {"max_total_step": 12_000, "model_save_fre": 64, "online_eval_episode": 20}
fast = joystick.train("PPO", Catch, seeds=3, general_cfg=short, algo_cfg={"lr": 2e-3})

# %%
slow = joystick.train("PPO", Catch, seeds=3, general_cfg=short, algo_cfg={"lr": 2e-4})

# %% [markdown]
# ## 哪个更好？
#
# 结论会考虑种子的差异：三个种子分不出高下的差别，只算作噪声。`print(comparison)` 显示更多内容，`comparison.plot()` 给出图片；`tasks/` 里其他运行的名字也可以拿来比较。

# %%
comparison = joystick.compare([fast, slow])
comparison

# %% [markdown]
# ## 最好的模型上场

# %%
fast.film(episodes=3)

# %% [markdown]
# 训练好的策略就是一个 Python 对象：它接收环境给出的观测，返回动作。

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
total / 20  # 20 个回合的平均回报

# %% [markdown]
# 接下来可以读：[在 Python 里训练](../zh/python.md)、[自己的环境](../zh/environments.md)、[调参](../zh/tutorials/tuning.md)。在命令行里，`python main.py watch` 会在浏览器中显示所有运行。
