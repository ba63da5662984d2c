"""Files for Kubernetes: a Job for a training of one process, or for each seed; a RayJob of KubeRay for several
processes."""

import re
import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import yaml

from config.read import stores
from config.read.loader import ConfigError
from config.read.opening import named
from config.tell.language import tr
from framework.commands.work.batch_job import Job
from framework.disk.task_dir import installed_version

WORK = PurePosixPath("/work")
"""Folder of the program in the image, as Containerfile has it."""
TASKS, SETTINGS = WORK / "tasks", PurePosixPath("/settings")
USER = 1000
"""User of the image."""
RETRIES = 6
"""Lost pods that are replaced, if no flag says it."""
MISTAKE = 2
"""Exit status of a run whose settings or code are wrong: another pod would not help."""
GPU = "nvidia.com/gpu"
Object = dict[str, Any]


class _Dumper(yaml.SafeDumper):
    """Writes a text of several lines as it is."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)


def manifest(job: Job) -> str:
    """Returns the objects as YAML, to be read by kubectl."""
    is_copied = stores.is_url(job.into or "")
    if not job.request.volume and not is_copied:
        raise ConfigError(
            "a pod's disk goes with the pod: --volume CLAIM names the claim of a volume for tasks/, "
            "--into s3://BUCKET/NAME a store"
        )
    name = re.sub(r"[^a-z0-9]+", "-", job.name.lower()).strip("-")[:50] or "training"
    if job.into and not is_copied and (PurePosixPath(job.into).is_absolute() or len(PurePosixPath(job.into).parts) > 1):
        raise ConfigError("--into {into}: in a pod it is a name under tasks/, the volume", into=repr(job.into))
    objects = [*([_settings(job, name)] if job.yaml else []), _ray_job(job, name) if job.ray else _job(job, name)]
    use = tr("kubectl apply -f FILE starts it; kubectl delete -f FILE stops it after a save; apply it again to go on")
    head = f"# {job.command}\n# {use}\n"
    return head + yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False, default_flow_style=False, width=1000)


def _named(job: Job, name: str) -> Object:
    return {"name": name, **({"namespace": job.request.namespace} if job.request.namespace else {})}


def _settings(job: Job, name: str) -> Object:
    """Returns a ConfigMap with the file of --yaml: the image has none of the user's files."""
    assert job.yaml is not None
    with open(job.yaml, encoding="utf-8", opener=named) as file:
        text = file.read()
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _named(job, f"{name}-settings"),
        "data": {job.yaml.name: text},
    }


def _words(job: Job) -> list[str]:
    """Returns the command in a pod, without its seed and its folder."""
    words = [str(SETTINGS / job.yaml.name) if job.yaml and word == str(job.yaml) else word for word in job.words]
    return ["python", str(WORK / "main.py"), *words]


def _folder(job: Job, name: str) -> str:
    """Returns what --into names: a folder on the volume, or a run in a store."""
    return job.into if job.into and stores.is_url(job.into) else str(TASKS / (job.into or name))


def _job(job: Job, name: str) -> Object:
    """Returns a Job: of one pod, or with an index for each seed."""
    words, folder = _words(job), _folder(job, name)
    if job.seeds:  # the shell takes the seed out of the list by the index of the pod
        line = f'{shlex.join(words)} general_cfg.seed="$1" --into {shlex.quote(folder)}"_seed_$1" --keep-alive'
        shell = f'shift "$JOB_COMPLETION_INDEX"; exec {line}'
        command = ["sh", "-c", shell, "sh", *map(str, job.seeds)]
    else:
        command = [*words, "--into", folder, "--keep-alive"]
    indexed = {"completionMode": "Indexed", "completions": len(job.seeds), "parallelism": job.at_once or len(job.seeds)}
    spec = {
        **(indexed if job.seeds else {}),
        "backoffLimit": (job.request.retries or RETRIES) * max(1, len(job.seeds)),
        "podFailurePolicy": {
            "rules": [
                {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [MISTAKE]}},
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
            ]
        },
        "template": {"spec": {"restartPolicy": "Never", **_pod(job, name, "train", command)}},
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": _named(job, name), "spec": spec}


def _ray_job(job: Job, name: str) -> Object:
    """Returns a RayJob: a cluster for this training alone, whose head drives it."""
    if job.seeds:
        raise ConfigError("--seeds prints a Job for each seed; leave out general_cfg.mp_backend=ray")
    words = [*_words(job), "general_cfg.ray_address=auto", "--into", _folder(job, name), "--keep-alive"]
    head = {"rayStartParams": {}, "template": {"spec": _pod(job, name, "ray-head")}}
    workers = {
        "groupName": "workers",
        "replicas": job.nodes - 1,
        "minReplicas": job.nodes - 1,
        "maxReplicas": job.nodes - 1,
        "rayStartParams": {},
        "template": {"spec": _pod(job, name, "ray-worker")},
    }
    cluster = {
        "rayVersion": installed_version("ray") or "",
        "headGroupSpec": head,
        **({"workerGroupSpecs": [workers]} if job.nodes > 1 else {}),
    }
    spec = {
        "entrypoint": shlex.join(words),
        "backoffLimit": job.request.retries or RETRIES,
        "shutdownAfterJobFinishes": True,
        "rayClusterSpec": cluster,
    }
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": _named(job, name), "spec": spec}


def _pod(job: Job, name: str, container: str, command: list[str] | None = None) -> Object:
    resources = {"cpu": job.cpus, "memory": f"{job.memory}i", **({GPU: job.gpus} if job.gpus else {})}
    volumes = dict(_volumes(job, name))
    spec: Object = {
        "name": container,
        "image": job.request.image,
        **({"command": command} if command else {}),
        "workingDir": str(WORK),
        "resources": {"requests": resources, "limits": dict(resources)},
        "volumeMounts": [{"name": volume, "mountPath": place} for volume, (place, _) in volumes.items()],
    }
    return {
        "terminationGracePeriodSeconds": job.warning,
        "securityContext": {"runAsUser": USER, "fsGroup": USER},
        "containers": [spec],
        "volumes": [{"name": volume, **source} for volume, (_, source) in volumes.items()],
    }


def _volumes(job: Job, name: str) -> Iterator[tuple[str, tuple[str, Object]]]:
    """Yields the name, the place and the source of each volume of a pod."""
    claim = {"persistentVolumeClaim": {"claimName": job.request.volume}}
    yield "tasks", (str(TASKS), claim if job.request.volume else {"emptyDir": {}})
    if job.yaml:
        yield "settings", (str(SETTINGS), {"configMap": {"name": f"{name}-settings"}})
    if job.ray:  # Ray's processes share memory, of which a container has 64 MiB
        yield "shm", ("/dev/shm", {"emptyDir": {"medium": "Memory"}})  # noqa: S108  # of the container alone
