"""A policy as an ONNX file. The only import of onnx and onnxruntime."""

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from framework.errors import JoystickError
from framework.export.policy import Arrays, FileModule

INSTALL = 'pip install "onnx>=1.23" "onnxscript>=0.7" "onnxruntime>=1.32"'
ROWS = 3
"""Rows of the example that the module is traced with; in the file their number is free."""


def check_packages() -> None:
    """Raises JoystickError if a package is missing."""
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise JoystickError(
            "export --to onnx needs the package {package}, which is not installed: {install}",
            package=error.name,
            install=INSTALL,
        ) from None


def content(module: FileModule, example: Arrays, facts: Mapping[str, str]) -> bytes:
    """Returns the file. example: inputs of one row; facts: metadata."""
    batch = torch.export.Dim("batch")
    tensors = {name: torch.from_numpy(example[name]).expand(ROWS, *example[name].shape[1:]) for name in module.inputs}
    module = module.cpu().eval()
    try:
        with _quiet(), torch.no_grad():
            graph = torch.export.export(module, (), tensors, dynamic_shapes={name: {0: batch} for name in tensors})
            program = torch.onnx.export(
                graph, input_names=module.inputs, output_names=module.outputs, dynamo=True, verbose=False
            )
    except Exception as error:  # a layer of the user's own may do what cannot be traced
        first = str(error).strip().partition("\n")[0]
        raise JoystickError(
            "the policy cannot be written as ONNX: {kind}: {error}", kind=type(error).__name__, error=first
        ) from error
    assert program is not None
    for key, value in facts.items():
        program.model.metadata_props[key] = value
    program.model.graph.name = "policy"
    data: bytes = program.model_proto.SerializeToString()
    return data


class Session:
    """A file as a function of arrays, by onnxruntime."""

    def __init__(self, data: bytes) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session: Any = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        self._outputs = [output.name for output in self._session.get_outputs()]

    def run(self, arrays: Arrays) -> Arrays:
        """Returns the outputs by name."""
        return dict(zip(self._outputs, self._session.run(self._outputs, arrays), strict=True))


@contextmanager
def _quiet() -> Iterator[None]:
    """Context without remarks of torch on how it traces, which say nothing about the result."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
