"""Names of ConvLab-2's policies -> what to write here, for the ends of sentences."""

from config.tell.language import tr

OF_A_POLICY = {
    "save": tr("write numpy.savez('policy.npz', **policy.weights())"),
    "load": tr("write policy.set_weights(dict(numpy.load('policy.npz')))"),
    "from_pretrained": tr("train one: weights of ConvLab-2 fit no network here"),
    "init_session": tr("leave it out: a policy keeps nothing of a dialogue"),
    "est_adv": tr("policy.update(epoch, n, s, a, r, mask) estimates the advantages"),
    "vector": tr("env.observation_space and env.action_space say how states and acts are written as numbers"),
    **dict.fromkeys(("policy", "value", "state_dict", "parameters"), tr("policy.weights() has all arrays, by name")),
}
"""Attributes of PPO and PG."""
