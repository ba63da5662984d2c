"""Packages that only some parts need. Those of environments are the rows of config/own/env_packages.py."""

from config.tell.language import tr

EXTRAS = {
    "mujoco": (tr("the robots of MuJoCo"), '"gymnasium[mujoco]"'),
    "minari": (tr("data sets of Minari"), '"minari[hdf5]"'),
    "tensorboard": (tr("a look at tb_logs/ (tensorboard --logdir tasks)"), '"tensorboard>=2.19"'),
    "wandb": ("general_cfg.loggers: wandb", '"wandb>=0.31"'),
    "mlflow": ("general_cfg.loggers: mlflow", '"mlflow-skinny>=3.17"'),
    "swanlab": ("general_cfg.loggers: swanlab", '"swanlab>=0.10"'),
    "trackio": ("general_cfg.loggers: trackio", '"trackio>=0.43"'),
    "huggingface_hub": (tr("push and pull with the Hugging Face hub"), '"huggingface_hub>=1.0"'),
    "modelscope_hub": (tr("push and pull with ModelScope"), '"modelscope-hub>=0.5"'),
    "pyarrow": (tr("data files in Parquet"), '"pyarrow>=18"'),
    "h5py": (tr("data files in HDF5"), "h5py"),
    "zstandard": (tr("data files that zstandard has compressed"), "zstandard"),
    "imageio_ffmpeg": (tr("videos as mp4"), '"imageio-ffmpeg>=0.6"'),
    "onnx onnxscript onnxruntime": ("export --to onnx", "onnx onnxscript onnxruntime"),
    "s3fs": (tr("copies of runs in a store: {scheme}", scheme="s3://"), '"s3fs>=2025.3"'),
    "gcsfs": (tr("copies of runs in a store: {scheme}", scheme="gs://"), '"gcsfs>=2025.3"'),
    "ossfs": (tr("copies of runs in a store: {scheme}", scheme="oss://"), '"ossfs>=2025.2"'),
    "envpool": ("env_cfg.vectorization: envpool", '"envpool>=1.2"'),
    "optuna cmaes": (tr("tuning by tpe, cmaes and qmc"), "optuna cmaes"),
}
"""Modules of such packages -> what they are for, and their names for pip."""


def install(module: str) -> str:
    """Returns the command that installs the package of a module."""
    package = module.partition(".")[0]
    names = next((pip for modules, (_, pip) in EXTRAS.items() if package in modules.split()), package)
    return f"pip install {names}"
