"""Measures the seconds that Ray takes to start with COUNT actors that only import torch, for ray_topology.py.

python empty_actors.py COUNT
"""

import os
import sys
import time

begin = time.perf_counter()
os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_worker_niceness="0")
import ray  # noqa: E402


@ray.remote(num_cpus=0)
class Empty:
    """An actor that imports torch, like every worker and learner."""

    def __init__(self) -> None:
        import torch  # noqa: F401

    def ready(self) -> bool:
        return True


ray.init(include_dashboard=False, log_to_driver=False, logging_level="error", num_cpus=1)
ray.get([actor.ready.remote() for actor in [Empty.remote() for _ in range(int(sys.argv[1]))]])
print(time.perf_counter() - begin)
ray.shutdown()
