"""Callbacks for tests, as a user would write them in a module."""

import numpy as np

import joystick


class Angle(joystick.Callbacks):
    """Mean angle of the pole in an episode."""

    METRICS = ("pole_angle",)

    def on_episode_start(self, *, episode, env):
        episode.user_data["angles"] = []

    def on_episode_step(self, *, episode, env):
        episode.user_data["angles"].append(abs(float(episode.last_observation()[0])))

    def on_episode_end(self, *, episode, env):
        episode.metrics["pole_angle"] = float(np.mean(episode.user_data["angles"]))


class Heard(Angle):
    """Also in evaluations; keeps what happened, in checkpoints too."""

    IN_EVALUATION = True

    def __init__(self):
        self.heard = []

    def on_episode_end(self, *, episode, env):
        super().on_episode_end(episode=episode, env=env)
        self.heard.append(["episode", episode.in_evaluation, episode.length])

    def on_train_result(self, *, run, result):
        self.heard.append(["result", result["iteration"], run.count.step])

    def on_evaluation(self, *, run, evaluation):
        self.heard.append(["evaluation", evaluation["mean"], run.count.step])

    def on_checkpoint(self, *, run, path):
        self.heard.append(["checkpoint", path.name, run.count.step])

    def state(self):
        return {"heard": self.heard}

    def load_state(self, state):
        self.heard = state["heard"]


class Fails(joystick.Callbacks):
    """Raises an error in its second episode, or at the end of an iteration."""

    def __init__(self):
        self.ended = 0

    def on_episode_end(self, *, episode, env):
        self.ended += 1
        if self.ended == 12:
            raise KeyError("angles")


class Undeclared(joystick.Callbacks):
    METRICS = ("angle",)

    def on_episode_end(self, *, episode, env):
        episode.metrics["angel"] = 1.0


class Misspelt(joystick.Callbacks):
    def on_epsiode_end(self, *, episode, env):
        pass


class Taken(joystick.Callbacks):
    METRICS = ("return",)
