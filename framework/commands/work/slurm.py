"""A script for sbatch: one training, or one for each seed in an array of jobs; with several nodes, a Ray on all.

The script knows nothing of checkpoints but their names: --keep-alive begins the run, or goes on with it, or finds that
it has finished. What is left to the script is to stop the run before the time is over, and to ask for another turn.
"""

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from config.program import MAIN, PROGRAM
from config.read import stores
from config.tell.language import tr
from framework.commands.work.batch_job import Job

TRAINING = """\
newest() {{ ls {models} 2>/dev/null | grep -xE '[0-9]+' | sort -n | tail -n 1; }}
before=$(newest)

warned=
{command} &
run=$!
trap 'warned=yes; kill -TERM "$run" 2>/dev/null' USR1
trap 'kill -TERM "$run" 2>/dev/null' TERM
while kill -0 "$run" 2>/dev/null; do wait "$run"; done
wait "$run"
status=$?

[ -n "$warned" ] && [ "$status" -eq 143 ] || exit "$status"
if [ "$(newest)" = "$before" ]; then
    echo {no_progress} >&2
    exit 1
fi
echo {requeued}
scontrol requeue "$SLURM_JOB_ID" || {{ echo {refused} >&2; exit 1; }}
sleep 60
"""
"""End of the script. After the request SLURM ends it, within seconds."""
RAY = """\
address=$("$python" -c 'import ray; print(ray.util.get_node_ip_address())'):$((20000 + SLURM_JOB_ID % 10000))
export RAY_USAGE_STATS_ENABLED=0 RAY_AUTH_MODE=token
RAY_AUTH_TOKEN=$("$python" -c 'import secrets; print(secrets.token_hex(32))')
export RAY_AUTH_TOKEN
ray_node() {{
    srun --overlap --nodes=1 --ntasks=1 --nodelist="$1" "$python" -m ray.scripts.scripts start --block \\
        --num-cpus="$SLURM_CPUS_PER_TASK" --num-gpus={gpus} "${{@:2}}" >/dev/null 2>&1 &
}}
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "/tmp/ray-$SLURM_JOB_ID"' EXIT
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
ray_node "${{nodes[0]}}" --head --node-ip-address="${{address%:*}}" --port="${{address#*:}}" \\
    --include-dashboard=false --temp-dir="/tmp/ray-$SLURM_JOB_ID"
for _ in $(seq 120); do (exec 3<>"/dev/tcp/${{address%:*}}/${{address#*:}}") 2>/dev/null && break; sleep 1; done
for node in "${{nodes[@]:1}}"; do ray_node "$node" --address="$address"; done
"$python" - "$address" "${{#nodes[@]}}" <<'END' || {{ echo {absent} >&2; exit 1; }}
import sys, time, ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="error")
until = time.monotonic() + 180
while sum(node["Alive"] for node in ray.nodes()) < int(sys.argv[2]):
    if time.monotonic() > until:
        sys.exit(1)
    time.sleep(1)
END

"""
"""Starts a Ray on all nodes, with a token of its own, and waits for it. The batch shell runs on the first node."""


def script(job: Job) -> str:
    """Returns the script."""
    no_progress = tr("the time was over before there was a new checkpoint; not queued again: a longer --time helps")
    models = '"tasks/${folder##*/}/models"' if stores.is_url(job.into or "") else '"$folder/models"'
    training = TRAINING.format(
        models=models,
        command=_command(job),
        no_progress=shlex.quote(no_progress),
        requeued=shlex.quote(tr("the time is over: saved, and queued again")),
        refused=shlex.quote(tr("this cluster does not queue jobs again; sbatch with the same --into goes on")),
    )
    return "".join(
        [
            *(f"{line}\n" for line in _head(job)),
            "\n",
            *(f"{line}\n" for line in _variables(job)),
            "\n",
            *([f"{job.request.setup}\n\n"] if job.request.setup else []),
            *([_ray(job)] if job.nodes > 1 else []),
            training,
        ]
    )


def _head(job: Job) -> Iterator[str]:
    """Yields the first lines, with what is asked of SLURM."""
    request = job.request
    yield "#!/bin/bash"
    yield f"# {job.command}"
    yield "# " + tr("sbatch FILE submits it, squeue --me lists it, scancel JOB stops it after a save")
    output = "slurm-%x-%A_%a.out" if job.seeds else "slurm-%x-%j.out"
    options = {
        "job-name": job.name,
        "array": f"0-{len(job.seeds) - 1}" + (f"%{job.at_once}" if job.at_once else "") if job.seeds else None,
        "nodes": job.nodes,
        "ntasks-per-node": 1,
        "cpus-per-task": job.cpus,
        "gres": f"gpu:{job.gpus}" if job.gpus else None,
        "mem": job.memory,
        "time": _time(request.time),
        "partition": request.partition,
        "account": request.account,
        "qos": request.qos,
        "signal": f"B:USR1@{job.warning}",
        "open-mode": "append",
        "chdir": shlex.quote(str(Path.cwd())),
        "output": output,
    }
    yield "#SBATCH --requeue"
    for name, value in options.items():
        if value is not None:
            yield f"#SBATCH --{name}={value}"


def _variables(job: Job) -> Iterator[str]:
    """Yields the lines that say what is trained, and where."""
    yield f"python={shlex.quote(sys.executable)}"
    folder = job.into or f"tasks/{job.name}-"
    number = "" if job.into else "${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}"
    if job.seeds:
        yield f"seeds=({' '.join(map(str, job.seeds))})"
        yield "seed=${seeds[$SLURM_ARRAY_TASK_ID]}"
        yield f'folder={shlex.quote(folder)}"{number}_seed_$seed"'
        pattern = shlex.quote(f"{folder}*_seed_*")
        yield "# " + tr("all seeds together: {program} compare {pattern}", program=PROGRAM, pattern=pattern)
    else:
        yield f"folder={shlex.quote(folder)}" + (f'"{number}"' if number else "")
    yield "# " + tr("libraries use the CPUs of this job, and not those of the whole node")
    yield "export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK"


def _command(job: Job) -> str:
    words = ['"$python"', shlex.quote(str(MAIN)), shlex.join(job.words)]
    if job.seeds:
        words.append('general_cfg.seed="$seed"')
    if job.nodes > 1:
        words.append('general_cfg.ray_address="$address"')
    return " ".join([*words, '--into "$folder" --keep-alive'])


def _ray(job: Job) -> str:
    absent = tr("Ray has not started on all nodes; the lines of ray_node without >/dev/null say why")
    return RAY.format(gpus=job.gpus, absent=shlex.quote(absent))


def _time(seconds: int) -> str:
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock
