"""Trained policies as files for other programs: ONNX, or safetensors with a description as JSON."""
