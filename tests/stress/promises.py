"""The rows of docs/reliability.md: what is promised, what would break it, and the command that tries it."""

from collections.abc import Callable
from typing import NamedTuple

Words = list[str]


class Row(NamedTuple):
    """A row of the page."""

    key: str
    """Name that a harness records its counts under; of several with the same beginning, their sum."""
    promise: str
    fault: str
    command: str
    """Words after `python -m tests.stress`: a module of this folder with its arguments, or `pytest` and tests."""
    share: Callable[[int, float], Words] | None = None
    """Words of a share, by the number of the session and the seconds that it has; None: the command itself, which has
    no smaller share and is tried once for each commit."""
    cost: float = 1.0
    """Its part of the time of `all`."""


def _timed(*words: str) -> Callable[[int, float], Words]:
    """Returns the words of a share of a harness that counts its seconds and draws by a seed."""
    return lambda session, seconds: [*words, "--seconds", f"{seconds:.0f}", "--seed", str(session)]


def _faults(command: str, kind: str, cost: float = 1.0) -> Row:
    every = 29 if command in ("train", "resume", "seeds", "tune", "ray") else 3

    def share(session: int, seconds: float) -> Words:
        place = [f"--every={every}", f"--first={1 + session % every}", f"--seconds={seconds:.0f}", f"--seed={session}"]
        return ["io_faults", command, kind, *place]

    return Row(f"io_faults {command} {kind}", PROMISES[command], kind, f"io_faults {command} {kind}", share, cost)


PROMISES = {
    "train": "a fault costs a run no more than the progress since its last checkpoint",
    "resume": "the same for a resume",
    "seeds": "the same for runs of several seeds",
    "tune": "a tuning comes to the same winner, or a sentence names the trial that was left out",
    "convert": "a converted file is whole or absent",
    "export": "an exported policy is whole or absent, and one after an error leaves nothing",
    "ray": "the same for a run with Ray, on a stand-in in one process",
    "evaluate": "a file of episodes is whole or absent, and the run is not changed",
    "test": "a test that is repeated comes to the same episodes, and the run is not changed",
    "film": "the same with a video",
    "compare": "a comparison that is repeated comes to the same table, and the runs are not changed",
    "sync": "a copy in a store has the files of its index, all of the run",
    "pull": "a run that comes from a hub is whole, or has no name, and the same command goes on",
}
"""Command -> what is promised of it."""
FAULTS = ("error", "kill", "torn", "power")


def _tests(key: str, promise: str, fault: str, *tests: str) -> Row:
    return Row(key, promise, fault, f"pytest {' '.join(f'tests/{name}' for name in tests)}")


DISK = [_faults(command, kind, 4.0 if command == "train" else 1.0) for command in PROMISES for kind in FAULTS]
"""Rows of the table of faults of the disk."""
README = [
    _tests("directory", "1. everything a run writes is in its task directory",
           "an environment or a program that changes the working directory, groups and tunings begun elsewhere",
           "framework/runs/test_working_directory.py"),
    _tests("checkpoint", "2. a checkpoint is complete and has the right checksum, or it is not listed",
           "kills during saves, a full disk, truncation at each tenth, each byte flipped, a failed rename",
           "framework/disk/test_crash.py", "framework/disk/test_checkpoint.py"),
    Row("kills", "3. equal settings and an equal seed give equal files, with or without an interruption",
        "SIGKILL at random moments, and suspended and continued processes, for every algorithm",
        "kills --kills 20", _timed("kills", "--kills", "20"), 6.0),
    Row("clock_kills", "3. the same with the checkpoints that `save_minutes` adds, which the next one replaces",
        "SIGKILL at random moments, one of these checkpoints after each round, for every algorithm",
        "kills --clock --kills 20", _timed("kills", "--clock", "--kills", "20"), 2.0),
    _tests("signals", "3. the same after Ctrl-C and SIGTERM in each phase of a run",
           "signals in warm-up, collecting, learning, evaluating, saving, the choice of the best, a film",
           "framework/runs/test_run_end.py", "framework/runs/test_save_signals.py"),
    _tests("settings", "4. a setting that is unknown, misplaced, of the wrong type or out of range never trains",
           "wrong keys, types, ranges, contradictions; broken and hostile YAML", "config/test_config.py",
           "config/test_bounds.py", "config/test_deep_texts.py"),
    Row("fuzz", "5. loading never executes code, even from a maliciously crafted file",
        "inputs changed by chance, by structure, and guided by coverage, for every reader",
        "fuzz --inputs 20000", _timed("fuzz", "--inputs", "1000000"), 8.0),
    _tests("hostile", "5. the same for pickles, archives, manifests, journals, folders that were made to do it",
           "crafted files with right checksums, and a canary that would exist if code had run",
           "framework/disk/test_hostile.py", "framework/disk/test_strangers.py",
           "framework/dataset/test_dataset_hostile.py", "framework/jobs/test_tuning_hostile.py"),
    _tests("figures", "6. a figure, video or TensorBoard that fails costs a warning, never the run",
           "no display, a broken ffmpeg, a full disk, lost and shortened files of TensorBoard",
           "framework/film/test_films.py", "framework/disk/test_lost_logs.py", "framework/disk/test_metrics.py"),
]  # fmt: skip
MORE = [
    Row("limits",
        "limits of the system cost a checkpoint at most, are told in a sentence, and a resume comes to the same end",
        "few descriptors, little memory, short files, a full disk, a full table of inodes, a disk that becomes "
        "read-only, a clock that jumps, two commands on one folder at once", "limits --rounds 3",
        _timed("limits", "--rounds", "2")),
    Row("keep_alive dqn", "a run with `--keep-alive` whose process is ended equals one that was left alone",
        "SIGKILL, SIGSEGV, SIGUSR1 and SIGUSR2 at random moments, DQN", "keep_alive dqn",
        lambda session, seconds: ["keep_alive", "dqn", "--kills", "3", "--seed", str(session)]),
    Row("keep_alive ppo", "the same with PPO", "the same signals", "keep_alive ppo",
        lambda session, seconds: ["keep_alive", "ppo", "--kills", "3", "--seed", str(session)]),
    Row("keep_alive ray", "the same with Ray", "the same signals", "keep_alive ray",
        lambda session, seconds: ["keep_alive", "ray", "--kills", "1", "--seed", str(session)]),
    Row("storage_faults", "a run goes on from its copy in a store alone to the same bytes, and two writers never mix",
        "SIGKILL at random moments; requests dropped before and after the server, cut off, throttled, refused",
        "storage_faults --runs 10 --kills 4 --share 0.03",
        lambda session, seconds: ["storage_faults", "--runs", "2", "--kills", "4", "--share", "0.03", "--seed",
                                  str(session)]),
    Row("tuning_kills", "a tuning, or a group of runs, that was killed comes to the same end",
        "SIGKILL at random moments", "tuning_kills",
        lambda session, seconds: ["tuning_kills", "--rounds", "1", "--seed", str(session)]),
    Row("ray_faults", "lost processes of Ray are replaced, or the run stops with a checkpoint",
        "kills of workers, learner and data server, a worker and a learner that stand still, 64 MiB of shared memory",
        "pytest tests/stress/ray_faults.py"),
    Row("ray_kills", "any process of a run with Ray may be lost: it goes on, or is resumed, and counts nothing twice",
        "SIGKILL of workers, learners, the data server, the driver, the raylet, the head of the cluster, at random "
        "moments",
        "ray_kills --kills 20", _timed("ray_kills", "--kills", "1000"), 4.0),
    Row("ray_clusters", "nodes of a cluster that are lost are replaced, and stages of a tuning begin again elsewhere",
        "a node that is killed, a task that is killed", "pytest tests/stress/ray_clusters.py"),
    Row("ray_network", "a machine that cannot be reached is replaced; a run whose driver was killed goes on elsewhere",
        "two network namespaces whose cable is pulled; SIGKILL of the driver, and its folder is gone: a copy is left",
        "pytest tests/stress/ray_network.py"),
    Row("slurm", "a job of SLURM that is queued again equals a run without a break",
        "by hand, at the end of its time, for a more important job, after its node was lost, after scancel, with a Ray "
        "on two nodes", "slurm"),
    _tests("forks", "a run belongs to the process that began it, and one thread uses it at a time",
           "a forked child that exits, closes, logs, trains, saves; multiprocessing; a second thread",
           "framework/runs/test_forked_runs.py"),
]  # fmt: skip
SECURITY = [
    _tests("permission", "code of the user's own is imported only with permission, and never from a task directory",
           "names in settings, YAML, runs of strangers; files that shadow packages; a list that others may write",
           "config/test_trust.py", "config/test_env_packages.py"),
    _tests("ports", "a run listens to nothing; Ray's ports are bound to the loopback address",
           "a scan of all sockets while a run with Ray trains, and after its driver was killed",
           "framework/distributed/test_ray_faults.py"),
    Row("ray_neighbor", "other users of the machine cannot reach what Ray keeps, nor join it",
        "the user nobody: ports, folders, shared memory, environments, command lines, joining without the token",
        "ray_neighbor"),
    _tests("watch", "`watch` answers this machine alone, with its token, and serves no file outside of the folder",
           "no token, other hosts, other sites, paths, links, pipes, requests that are none",
           "framework/live/test_watch_page.py", "framework/live/test_watch_actions.py"),
    _tests("hub", "a downloaded repository is a stranger's folder; tokens are not shown",
           "changed files, further files, errors that hold a token", "framework/sharing/test_push_pull.py"),
    _tests("network", "nothing is sent anywhere, and a run writes into its folder alone",
           "an audit of all calls of sockets and of all changes of files while a run trains, is tested and resumed",
           "framework/runs/test_nothing_is_sent.py"),
    _tests("copies", "a folder that came from elsewhere is copied nowhere until you say where",
           "stores named in its settings and its files", "framework/storage/test_mirror.py"),
    _tests("machine code", "machine code is loaded from the user's own folder alone, after its checksum",
           "packages that are damaged, cut off, exchanged; folders that others can look into or have made",
           "algos/test_packages.py"),
    _tests("links", "paths in files of others do not lead out of a task directory",
           "links, pipes and devices in place of every file that is read or written",
           "framework/disk/test_strangers.py", "config/test_opening.py"),
]  # fmt: skip
ROWS = [*DISK, *README, *MORE, *SECURITY]


class Defect(NamedTuple):
    """A defect that there was, and the test that has it come back if it does."""

    what: str
    tests: tuple[str, ...]
    """Ids of tests below tests/."""

    @property
    def command(self) -> str:
        return f"python -m pytest -n 0 {' '.join(f'tests/{name}' for name in self.tests)}"


_END, _STRANGERS = "framework/runs/test_run_end.py::", "framework/disk/test_strangers.py::"
_TUNING, _DEEP, _HANGS = "framework/jobs/test_tuning_hostile.py::", "config/test_deep_texts.py::", \
    "framework/collect/test_hangs.py::"  # fmt: skip
DEFECTS = [
    Defect("a film that failed wrote the best model over the last checkpoint",
           (f"{_END}test_a_film_that_fails_costs_a_warning_and_leaves_the_last_checkpoint_untouched",)),
    Defect("a save took three more copies of what was new in the memory, and a resume kept one for good",
           ("framework/disk/test_memory_bounds.py::test_a_save_and_a_resume_take_little_more_memory_than_the_buffer",)),
    Defect("a default limit ended a run before the limit that was written",
           ("config/test_config.py::test_a_limit_that_was_written_is_not_cut_short_by_a_default",)),
    Defect("one damaged older checkpoint failed a finished run",
           (f"{_END}test_a_damaged_older_checkpoint_is_left_out_of_the_choice",)),
    Defect("a finished run that was resumed and then killed had no best model",
           (f"{_END}test_the_best_model_is_there_at_every_moment_of_a_resume",)),
    Defect("Ctrl-C in the last evaluation was a traceback, or changed the choice of the best model",
           (f"{_END}test_a_signal_in_any_phase_ends_the_run_and_the_resume_comes_to_the_same_end",)),
    Defect("a report claimed that every resume was exact",
           (f"{_END}test_a_resume_records_whether_it_is_exact_and_why_not",)),
    Defect("a run directory whose table had other columns was a traceback",
           (f"{_STRANGERS}test_a_file_with_other_columns_is_refused_in_a_line",)),
    Defect("config.yaml was written in place, and a kill left it empty or cut off",
           (f"{_END}test_a_config_that_is_lost_or_cut_off_is_restored_from_the_checkpoint",
            f"{_END}test_a_config_is_written_only_where_it_changed")),
    Defect("an edited config.yaml trained on with other settings without a word",
           (f"{_END}test_an_edited_config_is_a_change_of_the_run",)),
    Defect("a crafted frame of the journal allocated what it claimed",
           ("framework/disk/test_memory_bounds.py::"
            "test_a_crafted_frame_is_refused_before_anything_is_allocated_for_it",)),
    Defect("memory and cores were counted without the limits of a container",
           ("framework/disk/test_memory_bounds.py::test_the_limit_of_a_container_is_the_memory_that_there_is",
            "framework/disk/test_memory_bounds.py::test_the_quota_of_a_container_is_the_number_of_cores")),
    Defect("a recurrent state outlived the end of an episode",
           ("framework/collect/test_going_on.py::test_a_recurrent_state_does_not_survive_a_dummy_step",)),
    Defect("the random policy was measured on the shortest episodes",
           ("framework/loop/test_evaluator.py::"
            "test_the_random_policy_plays_the_first_episodes_of_each_row_and_not_the_shortest",)),
    Defect("an episode without an end was repeated from its first step at each resume",
           ("framework/collect/test_going_on.py::"
            "test_an_episode_that_never_ends_costs_no_more_than_the_longest_replay",)),
    Defect("no file of the journal was ever deleted unless checkpoints were limited",
           ("framework/disk/test_checkpoint.py::"
            "test_without_a_limit_all_checkpoints_stay_and_the_newest_keep_their_memory",)),
    Defect("a kill between the cut and the stop byte of trajectories made a resume refuse",
           (f"{_STRANGERS}test_a_kill_between_the_cut_and_the_stop_byte_of_trajectories_costs_nothing",)),
    Defect("a resume wrote through links in the folder of a stranger",
           (f"{_STRANGERS}test_nothing_is_written_through_a_link",
            f"{_STRANGERS}test_every_writer_refuses_a_link_by_itself")),
    Defect("a folder of a stranger said to which cluster a resume connects",
           (f"{_STRANGERS}test_a_directory_does_not_say_to_which_cluster_a_resume_connects",)),
    Defect("names in a checkpoint were paths, and files there were deleted",
           (f"{_STRANGERS}test_a_tensorboard_group_is_not_a_path", f"{_STRANGERS}test_the_best_update_is_not_a_path")),
    Defect("an environment that hung left processes that held the lock of the run",
           (f"{_HANGS}test_processes_of_a_hung_environment_end_with_the_run_and_free_its_lock",
            f"{_STRANGERS}test_a_forked_process_does_not_keep_the_lock")),
    Defect("a pipe or a device in a run hung a command or took all memory",
           (f"{_STRANGERS}test_a_pipe_or_a_device_neither_hangs_a_command_nor_takes_the_memory",)),
    Defect("only a step that hung was noticed, not a reset, a close or the making of an environment",
           (f"{_HANGS}test_a_call_that_never_returns_ends_the_run_which_is_saved",
            f"{_HANGS}test_an_environment_that_is_never_made_is_no_run_that_waits")),
    Defect("an empty id of an environment was a traceback",
           ("config/test_config.py::test_an_id_that_is_no_name_is_answered",)),
    Defect("a number with thousands of digits was a traceback",
           ("config/test_config.py::test_a_number_with_thousands_of_digits_is_answered",)),
    Defect("messages repeated what a file held without measure, with control characters",
           ("config/test_config.py::test_messages_are_bounded_and_show_no_control_characters",)),
    Defect("run.json that was nested deep was a traceback",
           (f"{_STRANGERS}test_a_run_json_that_is_nested_too_deep_is_an_empty_one",)),
    Defect("a changed byte in rows before the checkpoint was carried on",
           (f"{_STRANGERS}test_a_changed_byte_in_what_was_logged_is_said_and_recorded_and_stops_nothing",)),
    Defect("sys.exit in an environment ended the run without a word and without a save",
           (f"{_END}test_sys_exit_in_an_environment_is_an_error_with_a_save",)),
    Defect("a disk that was full of trajectories ended the run",
           (f"{_STRANGERS}test_a_disk_that_is_full_of_trajectories_stops_no_training",)),
    Defect("`describe` imported a module without permission",
           ("framework/commands/test_cli.py::test_describe_never_imports_without_permission",)),
    Defect("a tuning's folder wrote through links, and deleted folders behind them",
           (f"{_TUNING}test_a_tuning_with_a_link_or_a_pipe_is_refused_in_a_sentence_and_nothing_is_changed",
            f"{_TUNING}test_the_stderr_of_a_trial_is_not_written_through_a_link",
            f"{_TUNING}test_nothing_is_deleted_through_a_link")),
    Defect("a change of the working directory split a run into two folders",
           ("framework/runs/test_working_directory.py::"
            "test_an_environment_that_changes_the_working_directory_does_not_split_a_run",
            "framework/runs/test_working_directory.py::"
            "test_a_program_that_changes_the_working_directory_does_not_split_a_run")),
    Defect("25 kB of brackets in a YAML file ended the process with SIGSEGV",
           (f"{_DEEP}test_each_is_answered_in_a_line",
            f"{_DEEP}test_what_looks_at_runs_goes_on_beside_such_a_folder")),
    Defect("the name of result.json was not durable, and no resume worked without it",
           ("framework/disk/test_lost_logs.py::test_the_name_of_a_new_log_is_durable",
            "framework/disk/test_lost_logs.py::test_a_log_of_times_is_no_reason_to_stop_a_resume",
            "framework/disk/test_lost_logs.py::test_no_trial_is_left_out_for_a_lost_log_of_times")),
    Defect("files of TensorBoard were not on the disk before the checkpoint that refers to them",
           ("framework/disk/test_lost_logs.py::test_all_that_a_checkpoint_refers_to_is_on_the_disk_before_it",)),
    Defect("a forked child saved and closed the run of its parent",
           ("framework/runs/test_forked_runs.py::test_a_forked_child_leaves_the_run_of_its_parent_alone",)),
    Defect("a megabyte of .npz took gigabytes and a minute, by the length of a header",
           ("framework/dataset/test_dataset_hostile.py",)),
    Defect("after Ctrl-C in train(1500), train(100) went on to 1,536",
           ("framework/runs/test_python_api.py::"
            "test_after_an_interrupt_train_makes_as_many_steps_as_it_is_asked_for",)),
    Defect("a pipe in place of config.yaml was waited for without an end", ("config/test_opening.py",)),
    Defect("a list in place of an algorithm's name was a traceback",
           ("config/test_config.py::test_several_algorithms_or_none_in_place_of_a_name_are_answered",)),
    Defect("the folder of Ray could be written by other users",
           ("framework/distributed/test_ray_faults.py::"
            "test_nothing_listens_where_others_can_reach_it_and_nothing_lives_after_the_driver_was_killed",)),
    Defect("rows in processes that hung ended with tracebacks",
           (f"{_HANGS}test_rows_in_processes_of_their_own_end_it_with_the_same_words_and_no_traceback",)),
    Defect("tune.json of another form was a traceback",
           (f"{_TUNING}test_failed_trials_in_another_form_are_refused_in_a_sentence",)),
    Defect("a lack of memory was a traceback",
           ("framework/runs/test_no_memory.py::test_four_mebibytes_are_too_few_for_a_thread_and_that_is_a_sentence",)),
    Defect("a value of a bad type in a checkpoint with right checksums was a traceback",
           (f"{_STRANGERS}test_a_number_of_another_kind_is_refused_in_a_sentence",)),
    Defect("a dead ffmpeg was reported as an index that is out of range",
           ("framework/film/test_films.py::test_an_ffmpeg_that_does_nothing_is_named",)),
    Defect("while a run with --keep-alive trained, its supervisor said that the program was being loaded",
           ("framework/jobs/test_supervisor.py::test_the_supervisor_says_nothing_while_a_child_works",)),
    Defect("`--config '{\"run\": ...}'` without a flag of RLlib, and a saved replay buffer with columns of another "
           "form, were tracebacks", ("framework/disk/test_fuzz.py::test_inputs_that_once_failed_are_answered",)),
    Defect("an export on a full disk left one file of a pair, and the next try was refused",
           ("framework/export/test_export.py::test_a_full_disk_leaves_no_half_of_a_pair",)),
    Defect("after Ctrl-C in an evaluation, that evaluation never came back",
           ("framework/loop/test_save_points.py::test_an_interruption_costs_no_save_point",)),
    Defect("with Ray, updates that were owed were thrown away at the limit",
           ("framework/distributed/test_distributed.py::"
            "test_what_is_owed_is_learned_before_a_limit_ends_a_run_and_not_beyond_max_update",)),
    Defect("a hundred million environments had no answer in two minutes",
           ("framework/commands/test_dry_run.py::"
            "test_more_environments_than_fit_are_answered_with_an_estimate_at_once",)),
    Defect("`--dry-run` passed a memory that the run refuses",
           ("framework/commands/test_dry_run.py::test_a_memory_that_the_run_refuses_is_refused",)),
    Defect("Ctrl-C while a test was filmed was not obeyed", (f"{_END}test_a_film_in_test_mode_obeys_a_signal",)),
    Defect("the end of a terminal or of a batch job ended the processes of an environment, and nothing was saved",
           ("framework/runs/test_save_signals.py::"
            "test_a_signal_to_all_processes_of_a_run_reaches_no_process_of_its_environment",)),
    Defect("a chunk of images had no bound: 0.9 GB",
           ("framework/disk/test_memory_bounds.py::test_a_chunk_of_images_has_fewer_minibatches",)),
    Defect("with Ray, all that was new in the memory went through the driver at each save",
           ("framework/distributed/test_remote_memory.py::test_one_frame_at_a_time_is_on_its_way",)),
    Defect("the process with the memory never closed its environment",
           ("framework/distributed/test_remote_memory.py::"
            "test_the_data_server_closes_the_environment_whose_goal_it_asked_for",)),
    Defect("two threads in one run got a wrong answer",
           ("framework/runs/test_forked_runs.py::test_a_second_thread_is_told_that_another_one_uses_the_run",)),
    Defect("an argument of the environment in a JoyRL file was swallowed, and another task was trained",
           ("config/foreign/test_joyrl.py::test_an_argument_of_the_environment_reaches_it",)),
    Defect("an empty value on the command line was taken for the default",
           ("framework/commands/test_cli.py::test_a_newcomers_word_gets_the_right_hint",)),
    Defect("bounds of the settings of an algorithm of one's own were dropped",
           ("config/test_bounds.py::test_an_algorithm_of_ones_own_keeps_the_bounds",)),
    Defect("learning rates that a resume may change were refused",
           ("algos/test_contract.py::test_a_resume_may_change_every_learning_rate",)),
    Defect("action masks of given data were left out without a word",
           ("framework/dataset/test_data_masks.py::test_minibatches_of_data_have_their_masks",)),
    Defect("a cached buffer of data left its main buffer empty",
           ("framework/data/test_data_buffer.py::test_the_main_buffer_of_caches_has_the_episodes_that_ended",)),
    Defect("a library in a folder of torch's compiler that others could write was loaded",
           ("algos/test_packages.py::test_only_a_folder_of_ones_own_is_used",)),
    Defect("every command failed where pyproject.toml was missing",
           ("framework/commands/test_cli.py::test_the_version_is_read_only_when_asked_for",)),
    Defect("a policy answered an observation of NaN",
           ("framework/data/test_data_algorithms.py::test_an_observation_that_is_not_finite_is_refused",)),
    Defect("a network of SimBa without an activation was a traceback",
           ("algos/test_critics.py::test_simba_is_a_projection_blocks_and_a_norm",)),
    Defect("a metric with the name of a column of train.csv stood where that column stands",
           ("algos/test_contract.py::test_no_metric_has_the_name_of_another_column",)),
    Defect("the name of an object in a store that is a folder was not durable before the index that lists it",
           ("framework/disk/test_lost_logs.py::"
            "test_an_object_of_a_store_in_a_folder_is_durable_before_the_index_that_lists_it",)),
    Defect("a process of Ray with a title was not found, and outlived the driver",
           ("framework/distributed/test_ray_faults.py::"
            "test_a_process_of_ray_with_a_title_is_known_by_its_environment",)),
]  # fmt: skip
"""Defects of this program that reviews, attacks and these harnesses have shown, in the order in which they were."""
