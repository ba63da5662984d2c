"""Names of charts: the columns of CSV files. In other languages than English they stand behind words."""

from types import MappingProxyType

from config.tell.language import ENGLISH, english, language, tr

WORDS = MappingProxyType(
    {
        "return": english("return"),
        "length": english("length of the episode"),
        "terminated": english("ended by the environment"),
        "mean": english("mean return"),
        "std": english("standard deviation of the returns"),
        "min": english("lowest return"),
        "max": english("highest return"),
        "median": english("median of the returns"),
        "return_mean": english("mean return"),
        "return_min": english("lowest return"),
        "return_max": english("highest return"),
        "length_mean": english("mean length of the episodes"),
        "evaluation": english("evaluation return"),
        "loss": english("loss"),
        "policy_loss": english("loss of the policy"),
        "value_loss": english("loss of the value function"),
        "actor_loss": english("loss of the actor"),
        "critic_loss": english("loss of the critic"),
        "entropy": english("entropy of the policy"),
        "kl": english("KL divergence"),
        "clipped": english("share of clipped ratios"),
        "explained_variance": english("explained variance of the returns"),
        "grad_norm": english("norm of the gradient"),
        "lr": english("learning rate"),
        "entropy_coef": english("weight of the entropy bonus"),
        "eps_clip": english("clip range of the ratio"),
        "expl_noise": english("standard deviation of the action noise"),
        "per_beta": english("exponent of the importance weights"),
        "bonus": english("the agent's own reward per step"),
        "env_reward": english("the environment's reward per step"),
        "bonus_loss": english("loss of the networks of the bonus"),
        "bonus_coef": english("weight of the bonus"),
        "epsilon": english("share of random actions"),
        "temperature": english("temperature of the exploration"),
        "beta": english("share of the expert's actions"),
        "q_mean": english("mean Q-value"),
        "value_mean": english("mean value"),
        "advantage_mean": english("mean advantage"),
        "weight_mean": english("mean weight"),
        "alpha": english("weight of the entropy"),
        "cql_loss": english("conservative loss"),
        "imitation_loss": english("loss of the imitation"),
        "vae_loss": english("loss of the autoencoder"),
        "flow_loss": english("loss of the flow"),
        "distill_loss": english("distance to the flow"),
        "similarity": english("similarity of the critics"),
        "discriminator_loss": english("loss of the discriminator"),
        "discriminator_accuracy": english("accuracy of the discriminator"),
        "controller_loss": english("loss of the controller"),
        "meta_loss": english("loss of the meta-controller"),
        "reached": english("share of reached goals"),
        "allowed": english("share of allowed actions"),
        "gain": english("gain of the surrogate"),
        "step_share": english("share of the full step"),
        "changed": english("states whose action has changed"),
        "delta": english("largest change of a value"),
        "at_v_min": english("probability at v_min"),
        "at_v_max": english("probability at v_max"),
        "outside": english("probability outside of the support"),
        "cpu_percent": english("processor [% of a core]"),
        "memory_mb": english("memory [MB]"),
        "gpu_percent": english("GPU [%]"),
        "gpu_memory_mb": english("memory of the GPU [MB]"),
    }
)
"""Column -> what is in it, in words."""


def title(column: str) -> str:
    """Returns the name of the chart of a column. It may belong to a policy: red/loss, return_red."""
    name = column.rpartition("/")[2]
    words = WORDS.get(name) or (WORDS["return"] if name.startswith("return_") else "")
    if language() == ENGLISH or not words:
        return column
    return tr("{words} ({column})", words=tr(words), column=column)
