"""Defaults of COMA."""

from algos.common.settings import JointRateConfig, MinibatchConfig, TargetConfig
from config.model.fields import Fraction, PositiveInt
from config.model.inherit import unread
from config.model.layers import Layers, mlp
from config.model.memory_spec import RolloutSpec
from config.tell.language import tr


class Config(MinibatchConfig, JointRateConfig, TargetConfig):
    """COMA: cooperating agents share a policy network; a central critic says what each action adds to the others'."""

    ACTION_SPACES = ("Discrete",)
    SPECIAL_LAYERS = ()
    JOINT = True
    READ_WITH = {
        "value_coef": unread(tr("the critic has a step of its own")),
        "log_std_init": unread(tr("actions are discrete")),
    }

    actor_layers: Layers = mlp(64, 64)
    """Layers between an agent's observation, with its one-hot index, and the logits of its actions. All agents share
    them; the output layer is added automatically."""
    critic_layers: Layers = mlp(128, 128)
    """Layers between the global state (without one, the observations of all agents), the actions of the other agents
    and the agent's one-hot index, and the values of its actions; the output layer is added automatically."""
    td_lambda: Fraction = 0.8
    """Lambda of the critic's targets: 0 is the 1-step return, 1 that of the whole window."""
    lr = 5e-4
    batch_size: PositiveInt = 512
    """Transitions collected per window, over all rows; one is a step of all agents."""
    sgd_batch_size: PositiveInt = 64
    """Transitions per minibatch of the critic; where the window does not divide evenly, the last one of an epoch is
    smaller."""
    k_epochs: PositiveInt = 2
    """Epochs of the critic: passes over each window, after which the policy makes one step."""
    entropy_coef = 0.01
    max_grad_norm = 10.0
    target_update = 100
    tau = 1.0

    def needs_global_state(self) -> bool:
        return True

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec.of_transitions(self.batch_size, rows, reward_clip=self.reward_clip)
