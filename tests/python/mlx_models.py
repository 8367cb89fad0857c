"""The model-level reference: mlx-lm's Llama on MLX's CPU device, every intermediate value recorded.

mlx-lm's package pulls in transformers; its model files need only MLX, so they are imported without
the package's own __init__.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

mx = pytest.importorskip("mlx.core", reason="MLX isn't installed (scripts/requirements.txt)")
nn = importlib.import_module("mlx.nn")

MLX_VERSION = "0.32.4"


def import_llama() -> types.ModuleType:
    """mlx_lm.models.llama, without running mlx_lm/__init__.py."""
    if "mlx_lm" not in sys.modules:
        spec = importlib.util.find_spec("mlx_lm")
        if spec is None or not spec.submodule_search_locations:
            pytest.skip("mlx-lm isn't installed (scripts/requirements.txt)")
        package = types.ModuleType("mlx_lm")
        package.__path__ = list(spec.submodule_search_locations)
        sys.modules["mlx_lm"] = package
    return importlib.import_module("mlx_lm.models.llama")


def read_config(folder: Path) -> dict:
    """config.json, with transformers 5's rope_parameters in mlx-lm's older place."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    parameters = config.get("rope_parameters")
    if parameters:
        config.setdefault("rope_theta", parameters.get("rope_theta", 10000.0))
        if parameters.get("rope_type", "default") != "default":
            config.setdefault("rope_scaling", parameters)
    for key in ("rope_theta", "num_key_value_heads", "rope_scaling"):
        if not config.get(key):
            config.pop(key, None)
    return config


def load_model(folder: Path) -> Any:
    """The checkpoint as mlx-lm loads it: quantized where scales exist, per-module settings first."""
    llama = import_llama()
    mx.set_default_device(mx.cpu)
    config = read_config(folder)
    weights: dict = {}
    for shard in sorted(folder.glob("*.safetensors")):
        weights.update(mx.load(str(shard)))
    model = llama.Model(llama.ModelArgs.from_dict(config))
    weights = model.sanitize(weights)
    quantization = config.get("quantization")
    if quantization:

        def is_quantized(path: str, module: Any) -> bool | dict:
            if isinstance(quantization.get(path), dict):
                return quantization[path]
            return hasattr(module, "to_quantized") and f"{path}.scales" in weights

        nn.quantize(
            model,
            group_size=quantization["group_size"],
            bits=quantization["bits"],
            class_predicate=is_quantized,
        )
    model.load_weights(list(weights.items()), strict=True)
    mx.eval(model.parameters())
    return model


@dataclass
class Recorder:
    """What passes through a model's operations during one call, by tap name."""

    layers: int
    norms: int = 0
    attentions: int = 0
    gates: int = 0
    taps: dict[str, Any] = field(default_factory=dict)

    def norm(self, x: Any, y: Any) -> None:
        """Records an RMSNorm: its input is what the layer before gave."""
        layer, is_post = divmod(self.norms, 2)
        if self.norms == 0:
            self.taps["embedding"] = x[0]
        elif is_post:
            self.taps[f"layers.{layer}.attention_residual"] = x[0]
        else:
            self.taps[f"layers.{layer - 1}.output"] = x[0]
        if layer == self.layers:
            self.taps["norm"] = y[0]
        else:
            self.taps[f"layers.{layer}.{'post_norm' if is_post else 'input_norm'}"] = y[0]
        self.norms += 1

    def attention(self, queries: Any, keys: Any, values: Any, output: Any) -> None:
        """Records rotated queries and keys, values and the output, [1, heads, rows, head_dim]."""
        named = {"keys": keys, "values": values, "queries": queries, "attention": output}
        for name, value in named.items():
            rows = value.transpose(0, 2, 1, 3)[0]
            self.taps[f"layers.{self.attentions}.{name}"] = rows.reshape(rows.shape[0], -1)
        self.attentions += 1

    def gate(self, value: Any) -> None:
        """Records the gated activation."""
        self.taps[f"layers.{self.gates}.gated"] = value[0]
        self.gates += 1


def record(model: Any, ids: list[int], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """One forward pass of `ids`; all taps as evaluated MLX arrays [rows, width]."""
    llama = import_llama()
    recorder = Recorder(len(model.model.layers))
    plain_norm, plain_attention = nn.RMSNorm.__call__, llama.scaled_dot_product_attention
    plain_gate = llama.swiglu

    def norm(self: Any, x: Any) -> Any:
        y = plain_norm(self, x)
        recorder.norm(x, y)
        return y

    def attention(queries: Any, keys: Any, values: Any, *rest: Any, **options: Any) -> Any:
        output = plain_attention(queries, keys, values, *rest, **options)
        recorder.attention(queries, keys, values, output)
        return output

    def gate(left: Any, right: Any) -> Any:
        value = plain_gate(left, right)
        recorder.gate(value)
        return value

    with monkeypatch.context() as patch:
        patch.setattr(nn.RMSNorm, "__call__", norm)
        patch.setattr(llama, "scaled_dot_product_attention", attention)
        patch.setattr(llama, "swiglu", gate)
        recorder.taps["logits"] = model(mx.array([ids]))[0]
    taps = {name: mx.contiguous(value) for name, value in recorder.taps.items()}
    mx.eval(taps)
    return taps


def greedy(model: Any, prompt: list[int], count: int) -> tuple[list[int], list[Any]]:
    """`count` greedy tokens through mlx-lm's KV cache, and the row of logits behind each."""
    cache_module = importlib.import_module("mlx_lm.models.cache")
    cache = [cache_module.KVCache() for _ in model.model.layers]
    ids: list[int] = []
    rows: list[Any] = []
    tokens = prompt
    for _ in range(count):
        logits = model(mx.array([tokens]), cache=cache)[0, -1]
        mx.eval(logits)
        rows.append(logits)
        ids.append(int(mx.argmax(logits).item()))
        tokens = [ids[-1]]
    return ids, rows
