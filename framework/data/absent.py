"""Names of Tianshou that have no counterpart of this name, and what to use in their place."""

INSTEAD = {
    "ActorPolicy": 'joystick.policy("SAC", env) is the policy of an algorithm',
    "AsyncCollector": "environments are waited for together; a run collects in several processes with mp_backend: ray",
    "BasePolicy": "a policy of your own inherits from joystick.Policy",
    "DummyVectorEnv": "a Collector takes a list of environments",
    "HERReplayBuffer": "hindsight is part of an algorithm, DDPG_HER or SAC_HER, in joystick.Run",
    "HERVectorReplayBuffer": "hindsight is part of an algorithm, DDPG_HER or SAC_HER, in joystick.Run",
    "OffpolicyTrainer": "offpolicy_trainer(policy, train, test, ...) trains when it is called",
    "OnpolicyTrainer": "onpolicy_trainer(policy, train, test, ...) trains when it is called",
    "OfflineTrainer": 'joystick.Run("CQL", env, algo_cfg={"data": folder}) learns from recorded data',
    "PrioritizedReplayBufferManager": "PrioritizedVectorReplayBuffer(total_size, buffer_num, alpha, beta) is one",
    "RayVectorEnv": "a Collector takes a list of environments; a run has several processes with mp_backend: ray",
    "ReplayBufferManager": "VectorReplayBuffer(total_size, buffer_num) makes its parts itself",
    "SegmentTree": "PrioritizedReplayBuffer has the sum tree inside; its `weight` are the priorities",
    "ShmemVectorEnv": "a Collector takes a list of environments, or a vector environment of gymnasium",
    "SubprocVectorEnv": "a Collector takes a list of environments, or a vector environment of gymnasium",
    "offline_trainer": 'joystick.Run("CQL", env, algo_cfg={"data": folder}) learns from recorded data',
}
"""Name -> a sentence about it. (Algorithms such as DQNPolicy are found by their name.)"""

METHODS = {
    "buffers": "an index counts through all parts: part k of size L has the places k L to k L + L - 1",
    "get_buffer_indices": "an index counts through all parts: part k of size L has the places k L to k L + L - 1",
    "get_weight": "buffer[index].weight are the weights",
    "load_hdf5": "load(path) reads a file that save(path) wrote",
    "save_hdf5": "save(path) writes everything to a file",
    "set_batch": "add, update and ReplayBuffer.from_data fill a buffer",
}
"""Method or attribute of a buffer -> what to use in its place."""
