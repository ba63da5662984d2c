"""cluster: scripts for SLURM and files for Kubernetes, read as bash and kubectl do; and what is refused."""

import json
import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from config.program import MAIN
from framework import commands
from main import main

PPO = ("--algo", "PPO", "--env", "CartPole-v1")
SLURM = ("cluster", "slurm", "--time", "1:00:00")
KUBERAY = ("cluster", "kuberay", "--image", "registry/joystick:1", "--volume", "runs")
RAY = ("general_cfg.mp_backend=ray", "general_cfg.n_workers=3")


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]):
    """Returns a function that returns what a command prints."""

    def run(*words: str) -> str:
        assert main([*words]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return run


def options(script: str) -> dict[str, str]:
    """Returns what a script asks of SLURM."""
    return {name: value for name, _, value in re.findall(r"^#SBATCH --([\w-]+)(=(.*))?$", script, re.M)}


def checked(script: str) -> str:
    """Returns a script that bash can read."""
    read = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
    assert (read.returncode, read.stderr) == (0, "")
    return script


# ------------------------------------------------------------------------------------------------------- slurm


def test_a_script_asks_for_what_the_words_say_and_is_queued_again(printed, tmp_path, monkeypatch) -> None:
    folder = tmp_path / "my project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    words = ("--cpus", "4", "--gpus", "2", "--memory", "16G", "--partition", "gpu", "--warning", "60", "--name", "walk")
    asked = options(checked(printed(*SLURM, *PPO, *words, "--account", "lab", "--qos", "long")))
    assert shlex.split(asked.pop("chdir")) == [str(folder)]
    assert asked == {
        "requeue": "", "job-name": "walk", "nodes": "1", "ntasks-per-node": "1", "cpus-per-task": "4", "gres": "gpu:2",
        "mem": "16G", "time": "01:00:00", "partition": "gpu", "account": "lab", "qos": "long", "signal": "B:USR1@60",
        "open-mode": "append", "output": "slurm-%x-%j.out",
    }  # fmt: skip


def test_the_words_of_the_training_are_kept_to_the_letter_and_its_device_is_the_one_asked_for(printed) -> None:
    config = json.dumps({"lr": 0.01})
    script = checked(printed(*SLURM, *PPO, "--gpus=1", "--config", config, "algo_cfg.gamma=0.9", "--keep-alive"))
    [line] = [line for line in script.splitlines() if "main.py" in line and not line.startswith("#")]
    program, main_file, *words = shlex.split(line.removesuffix(" &"))
    assert (program, main_file) == ("$python", str(MAIN))
    expected = [*PPO, "--config", config, "algo_cfg.gamma=0.9", "general_cfg.device=cuda"]
    assert words == [*expected, "--into", "$folder", "--keep-alive"]


def test_a_run_in_a_store_needs_no_folder_that_the_nodes_share(printed, tmp_path) -> None:
    """Its checkpoints are looked for in the copy here; the pod has a disk of its own."""
    url = "s3://bucket/p/walk"
    script = checked(printed(*SLURM, *PPO, "--into", url))
    assert f"folder={url}\n" in script
    assert '--into "$folder" --keep-alive' in script
    line = next(line for line in script.splitlines() if line.startswith("newest()"))
    (tmp_path / "tasks" / "walk" / "models" / "50").mkdir(parents=True)
    shell = f"folder={url}\n{line}\nnewest"
    assert subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True).stdout == "50\n"
    [job] = yaml.safe_load_all(printed(*KUBERAY[:4], *PPO, "--into", url))
    pod = job["spec"]["template"]["spec"]
    assert pod["containers"][0]["command"][-3:] == ["--into", url, "--keep-alive"]
    assert pod["volumes"] == [{"name": "tasks", "emptyDir": {}}]


def test_seeds_are_an_array_with_a_folder_for_each(printed) -> None:
    script = checked(printed(*SLURM, *PPO, "--seeds", "3,99999", "--jobs", "1"))
    asked = options(script)
    assert (asked["array"], asked["output"]) == ("0-1%1", "slurm-%x-%A_%a.out")
    lines = "\n".join(line for line in script.splitlines() if line.startswith(("seeds=", "seed=", "folder=")))
    said = subprocess.run(
        ["bash", "-uc", lines + '\necho "$seed $folder"'], text=True, capture_output=True,
        env={"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_JOB_ID": "17", "SLURM_JOB_ID": "18"},
    )  # fmt: skip
    assert said.stdout == "99999 tasks/PPO-CartPole-v1-17_seed_99999\n"


def test_several_nodes_have_one_ray_and_several_processes_on_one_node_their_own(printed) -> None:
    script = checked(printed(*SLURM, *PPO, *RAY, "--nodes", "2", "--gpus", "1"))
    assert options(script)["cpus-per-task"] == "3", "five processes on two nodes"
    assert "--num-gpus=1" in script
    assert 'general_cfg.ray_address="$address"' in script
    assert "RAY_AUTH_TOKEN" in script
    alone = checked(printed(*SLURM, *PPO, *RAY))
    assert options(alone)["cpus-per-task"] == "5"
    assert "ray_address" not in alone


@pytest.fixture
def job(printed, tmp_path, monkeypatch):
    """Returns a function that runs a script with a program in the place of the training. It has its process, and the
    calls of scontrol."""
    monkeypatch.chdir(tmp_path)
    program, scontrol = tmp_path / "python", tmp_path / "scontrol"
    scontrol.write_text('#!/bin/sh\necho "$@" >> scontrol.txt\n')

    def start(training: str) -> subprocess.Popen[str]:
        script = re.sub("(?m)^python=.*$", f"python={program}", printed(*SLURM, *PPO, "--into", "run"))
        program.write_text(f"#!/bin/bash\nmkdir -p run/models/7\n{training}\n")
        for file in (program, scontrol):
            file.chmod(0o755)
        environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_ID": "17", "SLURM_CPUS_PER_TASK": "1"}
        (tmp_path / "ready").unlink(missing_ok=True)
        script = script.replace("sleep 60", "")  # SLURM ends it
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(["bash", "-c", script], env=environment, text=True, cwd=tmp_path, **pipes)

    return start


SAVES = "trap 'mkdir run/models/9; exit 143' TERM; touch ready; for _ in {1..100}; do sleep 0.05; done"
"""A training that saves and stops."""


def asked(process: subprocess.Popen[str], *numbers: int) -> tuple[int, str, str]:
    """Sends signals to a job whose training runs. Returns its status, what it says, and the calls of scontrol."""
    until = time.monotonic() + 30
    while not Path("ready").exists() and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.1)
    for number in numbers:
        process.send_signal(number)
    said = "".join(process.communicate(timeout=30))
    calls = Path("scontrol.txt")
    return process.returncode, said, calls.read_text() if calls.exists() else ""


def test_before_the_time_is_over_the_run_saves_and_the_job_is_queued_again(job) -> None:
    status, said, calls = asked(job(SAVES), signal.SIGUSR1)
    assert (status, calls) == (0, "requeue 17\n"), said
    assert "saved, and queued again" in said


def test_a_job_that_comes_to_no_checkpoint_is_not_queued_again(job) -> None:
    """It would come to none in any number of turns."""
    Path("run/models/7").mkdir(parents=True)
    status, said, calls = asked(job(SAVES.replace("mkdir run/models/9; ", "")), signal.SIGUSR1)
    assert (status, calls) == (1, "")
    assert "a longer --time helps" in said


def test_a_job_that_is_cancelled_or_whose_run_has_ended_is_not_queued_again(job) -> None:
    assert asked(job(SAVES), signal.SIGTERM)[::2] == (143, "")
    assert asked(job("touch ready; exit 2"))[::2] == (2, "")
    finished = "trap 'exit 0' TERM; touch ready; for _ in {1..100}; do sleep 0.05; done"
    assert asked(job(finished), signal.SIGUSR1)[::2] == (0, ""), "it was just ready"


# -------------------------------------------------------------------------------------------------- kubernetes


def objects(text: str) -> list[dict]:
    return list(yaml.safe_load_all(text))


def test_one_process_is_a_job_whose_lost_pods_are_replaced_and_whose_mistakes_end_it(printed) -> None:
    [job] = objects(printed(*KUBERAY, *PPO, "--retries", "3", "--cpus", "2", "--gpus", "1", "--namespace", "lab"))
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    assert job["metadata"] == {"name": "ppo-cartpole-v1", "namespace": "lab"}
    assert job["spec"]["backoffLimit"] == 3
    failed, disrupted = job["spec"]["podFailurePolicy"]["rules"]
    assert (failed["action"], failed["onExitCodes"]["values"]) == ("FailJob", [2])
    assert (disrupted["action"], disrupted["onPodConditions"]) == ("Ignore", [{"type": "DisruptionTarget"}])
    pod = job["spec"]["template"]["spec"]
    assert (pod["restartPolicy"], pod["terminationGracePeriodSeconds"]) == ("Never", 120)
    [container] = pod["containers"]
    assert container["image"] == "registry/joystick:1"
    words = ["python", "/work/main.py", *PPO, "general_cfg.device=cuda"]
    assert container["command"] == [*words, "--into", "/work/tasks/ppo-cartpole-v1", "--keep-alive"]
    assert container["resources"]["limits"] == {"cpu": 2, "memory": "8Gi", "nvidia.com/gpu": 1}
    assert pod["volumes"] == [{"name": "tasks", "persistentVolumeClaim": {"claimName": "runs"}}]
    assert container["volumeMounts"] == [{"name": "tasks", "mountPath": "/work/tasks"}]


def test_each_seed_is_an_index_of_the_job(printed, tmp_path) -> None:
    [job] = objects(printed(*KUBERAY, *PPO, "--seeds", "4,7", "--jobs", "1"))
    assert job["spec"] | {"template": {}, "podFailurePolicy": {}} == {
        "completionMode": "Indexed", "completions": 2, "parallelism": 1, "backoffLimit": 12,
        "podFailurePolicy": {}, "template": {},
    }  # fmt: skip
    command = job["spec"]["template"]["spec"]["containers"][0]["command"]
    (tmp_path / "python").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "python").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "JOB_COMPLETION_INDEX": "1"}
    said = subprocess.run(command, env=environment, text=True, capture_output=True).stdout
    assert said.split()[-4:] == ["general_cfg.seed=7", "--into", "/work/tasks/ppo-cartpole-v1_seed_7", "--keep-alive"]


def test_a_file_of_settings_goes_along(printed, tmp_path) -> None:
    file = tmp_path / "my.yaml"
    file.write_text("general_cfg: {algo_name: PPO}\nenv_cfg: {id: CartPole-v1}\n")
    settings, job = objects(printed(*KUBERAY, "--yaml", str(file)))
    assert settings["data"] == {"my.yaml": file.read_text()}
    pod = job["spec"]["template"]["spec"]
    assert pod["containers"][0]["command"][2:4] == ["--yaml", "/settings/my.yaml"]
    assert {"name": "settings", "configMap": {"name": settings["metadata"]["name"]}} in pod["volumes"]


def test_several_processes_are_a_ray_job(printed) -> None:
    [job] = objects(printed(*KUBERAY, *PPO, *RAY, "--nodes", "3", "--retries", "2"))
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    assert (job["spec"]["backoffLimit"], job["spec"]["shutdownAfterJobFinishes"]) == (2, True)
    words = shlex.split(job["spec"]["entrypoint"])
    assert words[-4:] == ["general_cfg.ray_address=auto", "--into", "/work/tasks/ppo-cartpole-v1", "--keep-alive"]
    cluster = job["spec"]["rayClusterSpec"]
    [workers] = cluster["workerGroupSpecs"]
    assert {workers[name] for name in ("replicas", "minReplicas", "maxReplicas")} == {2}
    for group in (cluster["headGroupSpec"], workers):
        [container] = group["template"]["spec"]["containers"]
        assert container["resources"]["limits"]["cpu"] == 2, "five processes on three nodes"
        assert {"name": "shm", "mountPath": "/dev/shm"} in container["volumeMounts"]


# ----------------------------------------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cluster", "slurm", *PPO], "needs the longest time of a job, such as --time 4:00:00"),
        (["cluster", "slurm", "--time", "5:00", *PPO], "a job would hardly train"),
        (["cluster", "slurm", "--time", "soon", *PPO], "use HOURS:MINUTES:SECONDS"),
        ([*SLURM, *PPO, "--image", "x"], "--image is for: cluster kuberay"),
        ([*SLURM, *PPO, "--nodes", "2"], "needs general_cfg.mp_backend=ray"),
        ([*SLURM, *PPO, "--gpus", "1", "general_cfg.device=cpu"], "general_cfg.device=cpu uses none"),
        ([*SLURM, *PPO, "general_cfg.device=cuda"], "add --gpus 1"),
        ([*SLURM, *PPO, *RAY, "--nodes", "2", "--cpus", "1"], "2 nodes of 1 have 2"),
        ([*SLURM, *PPO, "general_cfg.ray_address=auto"], "leave out general_cfg.ray_address"),
        ([*SLURM, *PPO, "--jobs", "2"], "add --seeds"),
        ([*SLURM, *PPO, "--resume", "x"], "to continue an old one in a job: --into its folder"),
        ([*SLURM, *PPO, "algo_cfg.gama=1"], "did you mean gamma"),
        ([*SLURM, *PPO, "--partition", "a b"], "invalid name 'a b'"),
        ([*SLURM, "--algo", "PPO,DQN"], "a job trains one experiment"),
        (["cluster", "kuberay", *PPO], "needs --image NAME"),
        (["cluster", "kuberay", "--image", "x", *PPO], "--volume CLAIM"),
        ([*KUBERAY, *PPO, "--time", "1:00:00"], "--time is for: cluster slurm"),
        ([*KUBERAY, *PPO, "--into", "a/b"], "it is a name under tasks/"),
        ([*KUBERAY, *PPO, *RAY, "--seeds", "1,2"], "--seeds prints a Job for each seed"),
        (["cluster", "pbs", *PPO], "invalid choice: 'pbs'"),
    ],
)
def test_words_that_do_not_fit_are_refused_with_a_sentence(words, said, capsys) -> None:
    try:
        status = main(list(words))
    except SystemExit as end:
        status = end.code
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 5400), ("90:30", 5430), ("4:00:00", 14400), ("1-12", 129600), ("1-12:30", 131400), ("1-0:0:5", 86405)],
)
def test_times_are_read_as_slurm_reads_them(text, seconds) -> None:
    assert commands.parse(["cluster", "slurm", "--time", text]).time == seconds
