"""Float64 oracle: the Llama forward pass of a checkpoint folder, to judge the engine's f32 results.

Weights are widened exactly (f32, f16, bf16) or dequantized as the contract says
(w = fma(code, scale, bias) in f32); everything after that is float64. Supported: model types llama
and mistral with grouped-query attention, any head_dim, tied or untied head, attention_bias,
mlp_bias, and the rope types default, linear and llama3. Anything else is refused.

`rounding_bound` says how far a correct f32 engine may be away: see its derivation there.

    oracle_fp64.py -m DIR --ids 1,2,3 -n 16 --json out.json --logits out.npy --taps taps.npz
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from checkpoint_io import Tensor, decode, dequantize_affine, read_folder
from seeded_random import SeededRandom

UNIT_ROUNDOFF = 2.0**-24  # of f32 under round to nearest
LANES = 16  # partial sums of a dot product in the profile pinned-f32
BOUND_TRIALS = 4
BOUND_FACTOR = 4.0
PREFILL_ROWS = 64  # rows a pass; bounds memory, does not change the mathematics
Cache = list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class RopeRule:
    """Rotary embedding: base frequency and the scaling rule applied to the frequencies."""

    theta: float
    kind: str
    values: dict[str, float]

    @staticmethod
    def from_config(config: dict) -> RopeRule:
        """Reads rope_parameters, or rope_theta and rope_scaling, whichever the config carries."""
        rule = {**(config.get("rope_scaling") or {}), **(config.get("rope_parameters") or {})}
        kind = rule.get("rope_type", rule.get("type", "default"))
        if kind not in ("default", "linear", "llama3"):
            raise ValueError(f"rope_type {kind!r} is not implemented")
        theta = rule.get("rope_theta", config.get("rope_theta", 10000.0))
        numbers = {key: value for key, value in rule.items() if isinstance(value, (int, float))}
        return RopeRule(float(theta), kind, numbers)

    def frequencies(self, head_dim: int) -> np.ndarray:
        """Angle per position of pair i: theta^(-2i/head_dim), rescaled.

        linear: f / factor. llama3: with r = original_context * f / (2 pi) turns over the original
        context, f stays where r > high, becomes f / factor where r < low, and between the two is
        blended with weight (r - low) / (high - low).
        """
        plain = self.theta ** (-np.arange(0, head_dim, 2) / head_dim)
        if self.kind == "default":
            return plain
        slow = plain / self.values["factor"]
        if self.kind == "linear":
            return slow
        low, high = self.values["low_freq_factor"], self.values["high_freq_factor"]
        turns = self.values["original_max_position_embeddings"] * plain / (2 * math.pi)
        keep = np.clip((turns - low) / (high - low), 0.0, 1.0)
        return keep * plain + (1 - keep) * slow


@dataclass(frozen=True)
class LlamaConfig:
    """The keys of config.json that shape the mathematics."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    epsilon: float
    tied: bool
    rope: RopeRule

    @staticmethod
    def from_json(config: dict) -> LlamaConfig:
        """Fills defaults as Hugging Face does and refuses what is not implemented."""
        allowed = {"model_type": ("llama", "mistral"), "hidden_act": ("silu", None)}
        for key, values in allowed.items():
            if config.get(key) not in values:
                raise ValueError(f"{key} {config.get(key)!r} is not implemented")
        if config.get("sliding_window") is not None:
            raise ValueError("sliding_window is not implemented")
        heads = config["num_attention_heads"]
        return LlamaConfig(
            layers=config["num_hidden_layers"],
            hidden=config["hidden_size"],
            heads=heads,
            kv_heads=config.get("num_key_value_heads") or heads,
            head_dim=config.get("head_dim") or config["hidden_size"] // heads,
            epsilon=config.get("rms_norm_eps", 1e-6),
            tied=config.get("tie_word_embeddings", False),
            rope=RopeRule.from_config(config),
        )


class Weights:
    """Float64 weights by module path, widened or dequantized on first use and kept."""

    def __init__(self, tensors: dict[str, Tensor], quantization: dict) -> None:
        self._tensors = tensors
        self._quantization = quantization
        self._kept: dict[str, np.ndarray] = {}

    def matrix(self, path: str) -> np.ndarray:
        """The module's weight [out, in] (for an embedding [vocab, hidden])."""
        if path not in self._kept:
            self._kept[path] = self._load(path)
        return self._kept[path]

    def vector(self, name: str) -> np.ndarray | None:
        """A one-dimensional tensor by full name; None where the checkpoint has none."""
        return decode(self._tensors[name]) if name in self._tensors else None

    def _load(self, path: str) -> np.ndarray:
        """An override by path decides; without one a module is quantized iff it has scales."""
        rule = self._quantization.get(path, self._quantization)
        weight = self._tensors[f"{path}.weight"]
        if rule is False or f"{path}.scales" not in self._tensors:
            return decode(weight)
        scales, biases = self._tensors[f"{path}.scales"], self._tensors[f"{path}.biases"]
        count = weight.data.shape[1] * 32 // rule["bits"]
        if scales.data.shape[1] * rule["group_size"] != count:
            raise ValueError(f"{path}: scales {scales.data.shape} do not fit {rule}")
        return dequantize_affine(weight, scales, biases, rule["bits"])


class Exact:
    """Arithmetic of the oracle proper: float64, nothing added."""

    def matmul(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """left [..., m, k] times right [..., k, n]."""
        return left @ right

    def rounded(self, values: np.ndarray, _ulps: float | np.ndarray) -> np.ndarray:
        """Marks a place where the engine's result carries `ulps` roundings of relative size u."""
        return values

    def stored(self, values: np.ndarray) -> np.ndarray:
        """Marks what goes into the KV cache."""
        return values


class Perturbed(Exact):
    """Exact arithmetic plus random local errors of the size that f32 arithmetic makes."""

    def __init__(self, seed: int) -> None:
        self._random = SeededRandom(seed)

    def matmul(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Adds errors of standard deviation u sqrt(n) max(|y|, ||x*w||_2), see rounding_bound."""
        exact = left @ right
        spread = np.maximum(np.abs(exact), np.sqrt((left * left) @ (right * right)))
        steps = dot_roundings(left.shape[-1])
        return exact + UNIT_ROUNDOFF * math.sqrt(steps) * spread * self._random.normal(exact.shape)

    def rounded(self, values: np.ndarray, ulps: float | np.ndarray) -> np.ndarray:
        """values * (1 + ulps*u*noise), elementwise."""
        return values * (1 + UNIT_ROUNDOFF * ulps * self._random.normal(values.shape))


class NarrowCache(Exact):
    """Exact arithmetic, but keys and values carry the error of one rounding to a narrower dtype."""

    def __init__(self, seed: int, unit: float) -> None:
        self._random = SeededRandom(seed)
        self._unit = unit

    def stored(self, values: np.ndarray) -> np.ndarray:
        """Uniform between -unit and unit, relative: a standard deviation of unit / sqrt(3)."""
        return values * (1 + self._unit / math.sqrt(3) * self._random.normal(values.shape))


def dot_roundings(length: int) -> int:
    """Roundings between a product and the finished dot: one lane's chain, then the tree."""
    return math.ceil(length / LANES) + int(math.log2(LANES))


@dataclass
class Result:
    """Generated ids, the logits [n, vocab] that chose each, and optional taps by name."""

    prompt_ids: list[int]
    ids: list[int] = field(default_factory=list)
    logits: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    taps: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def min_margin(self) -> float:
        """Smallest gap between the two best logits: argmax is safe from errors below half of it."""
        best = np.sort(self.logits, axis=1)[:, -2:]
        return float(np.min(best[:, 1] - best[:, 0]))


class Oracle:
    """A checkpoint and its forward pass."""

    def __init__(self, folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        self.config = LlamaConfig.from_json(config)
        quantization = config.get("quantization") or config.get("quantization_config") or {}
        self.weights = Weights(read_folder(folder), quantization)
        self.eos = eos_ids(folder)

    def generate(
        self,
        prompt: list[int],
        count: int,
        forced: list[int] | None = None,
        ignore_eos: bool = False,
        ops: Exact | None = None,
        tapped: bool = False,
    ) -> Result:
        """Chooses up to `count` tokens: `forced` ones where given, else the argmax (lowest id)."""
        ops = ops or Exact()
        result = Result(list(prompt))
        cache: Cache = []
        rows: list[np.ndarray] = []
        pending = list(prompt)
        while len(result.ids) < count:
            hidden = self._advance(pending, cache, ops, result.taps if tapped else None)
            rows.append(self.head(hidden[-1:], ops)[0])
            step = len(result.ids)
            token = forced[step] if forced is not None else int(np.argmax(rows[-1]))
            result.ids.append(token)
            pending = [token]
            if token in self.eos and not ignore_eos and forced is None:
                break
        result.logits = np.array(rows)
        return result

    def _advance(
        self, ids: list[int], cache: Cache, ops: Exact, taps: dict[str, np.ndarray] | None
    ) -> np.ndarray:
        """Feeds ids in bounded chunks; returns the hidden rows of the last chunk."""
        hidden = np.empty((0, self.config.hidden))
        for start in range(0, len(ids), PREFILL_ROWS):
            hidden = self.forward(ids[start : start + PREFILL_ROWS], cache, ops, taps)
        return hidden

    def forward(
        self, ids: list[int], cache: Cache, ops: Exact, taps: dict[str, np.ndarray] | None = None
    ) -> np.ndarray:
        """Rows of tokens to rows of hidden state [n, hidden]; extends the cache.

        h += Attention(norm(h)), then h += W_down(silu(W_gate g) * (W_up g)) with g = norm(h).
        """
        hidden = self.weights.matrix("model.embed_tokens")[ids]
        _tap(taps, "embed", hidden)
        for layer in range(self.config.layers):
            base = f"model.layers.{layer}"
            if layer == len(cache):
                empty = np.empty((0, self.config.kv_heads, self.config.head_dim))
                cache.append((empty, empty))
            normed = self._norm(f"{base}.input_layernorm", hidden, ops)
            hidden = ops.rounded(hidden + self._attention(base, normed, cache, layer, ops), 1)
            normed = self._norm(f"{base}.post_attention_layernorm", hidden, ops)
            hidden = ops.rounded(hidden + self._mlp(f"{base}.mlp", normed, ops), 1)
            _tap(taps, f"layer.{layer}", hidden)
        return hidden

    def head(self, hidden: np.ndarray, ops: Exact) -> np.ndarray:
        """Logits [n, vocab] of hidden rows: final norm, then the head or the tied embedding."""
        path = "model.embed_tokens" if self.config.tied else "lm_head"
        return ops.matmul(self._norm("model.norm", hidden, ops), self.weights.matrix(path).T)

    def _linear(self, path: str, rows: np.ndarray, ops: Exact) -> np.ndarray:
        """rows W^T + b."""
        product = ops.matmul(rows, self.weights.matrix(path).T)
        bias = self.weights.vector(f"{path}.bias")
        return product if bias is None else ops.rounded(product + bias, 1)

    def _norm(self, path: str, rows: np.ndarray, ops: Exact) -> np.ndarray:
        """x / sqrt(mean(x^2) + eps) * g."""
        square = np.mean(rows * rows, axis=-1, keepdims=True)
        square = ops.rounded(square, math.sqrt(dot_roundings(rows.shape[-1])) + 1)
        scaled = rows / np.sqrt(square + self.config.epsilon)
        return ops.rounded(scaled * self.weights.vector(f"{path}.weight"), 3)

    def _mlp(self, base: str, rows: np.ndarray, ops: Exact) -> np.ndarray:
        """W_down(silu(W_gate x) * (W_up x)), silu(a) = a / (1 + e^-a)."""
        gate = self._linear(f"{base}.gate_proj", rows, ops)
        up = self._linear(f"{base}.up_proj", rows, ops)
        active = ops.rounded(gate / (1 + np.exp(-gate)) * up, 6)
        return self._linear(f"{base}.down_proj", active, ops)

    def _rotate(self, heads: np.ndarray, start: int, ops: Exact) -> np.ndarray:
        """Rotates pairs (x_i, x_{i+d/2}) of [n, heads, d] by position * frequency_i."""
        half = self.config.head_dim // 2
        positions = np.arange(start, start + len(heads))
        angle = np.outer(positions, self.config.rope.frequencies(self.config.head_dim))[:, None, :]
        cos, sin = ops.rounded(np.cos(angle), 2), ops.rounded(np.sin(angle), 2)
        left, right = heads[..., :half], heads[..., half:]
        return np.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1)

    def _attention(
        self, base: str, rows: np.ndarray, cache: Cache, layer: int, ops: Exact
    ) -> np.ndarray:
        """W_o concat_h(softmax(q_h K^T / sqrt(d) + causal) V); head h reads kv head h*KV/H."""
        shape = (len(rows), -1, self.config.head_dim)
        query, key, value = (
            self._linear(f"{base}.self_attn.{name}_proj", rows, ops).reshape(shape)
            for name in ("q", "k", "v")
        )
        keys, values = cache[layer]
        start = len(keys)
        keys = np.concatenate([keys, ops.stored(self._rotate(key, start, ops))])
        values = np.concatenate([values, ops.stored(value)])
        cache[layer] = (keys, values)
        mixed = self._mix(self._rotate(query, start, ops), keys, values, start, ops)
        return self._linear(f"{base}.self_attn.o_proj", mixed.reshape(len(rows), -1), ops)

    def _mix(
        self, query: np.ndarray, keys: np.ndarray, values: np.ndarray, start: int, ops: Exact
    ) -> np.ndarray:
        """Attention of query [n, H, d] over keys and values [s, KV, d]; returns [n, H, d]."""
        share = self.config.heads // self.config.kv_heads
        keys = np.repeat(keys.transpose(1, 2, 0), share, axis=0)  # [H, d, s]
        values = np.repeat(values.transpose(1, 0, 2), share, axis=0)  # [H, s, d]
        scores = ops.matmul(query.transpose(1, 0, 2), keys) / math.sqrt(self.config.head_dim)
        future = np.arange(keys.shape[2]) > start + np.arange(len(query))[:, None]
        scores = np.where(future, -np.inf, scores)
        below = scores - scores.max(axis=-1, keepdims=True)
        # e^t carries its own error and |t| times the relative error of its argument.
        power = ops.rounded(np.exp(below), 4 + np.where(future, 0.0, np.abs(below)))
        total = power.sum(axis=-1, keepdims=True)
        chance = power / ops.rounded(total, math.sqrt(dot_roundings(keys.shape[2])) + 1)
        return ops.matmul(chance, values).transpose(1, 0, 2)


def _tap(taps: dict[str, np.ndarray] | None, name: str, rows: np.ndarray) -> None:
    """Appends rows to a named tap, so that a tap ends as [positions, hidden]."""
    if taps is not None:
        taps[name] = np.concatenate([taps[name], rows]) if name in taps else rows


def eos_ids(folder: Path) -> set[int]:
    """Union of eos_token_id (an int, a list or absent) of config and generation_config."""
    found: set[int] = set()
    for name in ("config.json", "generation_config.json"):
        path = folder / name
        value = json.loads(path.read_text()).get("eos_token_id") if path.exists() else None
        found.update(value if isinstance(value, list) else [] if value is None else [value])
    return found


def rounding_bound(
    oracle: Oracle, exact: Result, trials: int = BOUND_TRIALS, factor: float = BOUND_FACTOR
) -> float:
    """How far f32 logits may be from `exact.logits`: one absolute bound for all of them.

    Local errors. A dot of length K runs in 16 lanes of at most ceil(K/16) fused steps and a tree
    of 4 additions: n = ceil(K/16) + 4 roundings on every path. Its error is the sum of d_j s_j
    over all roundings, |d_j| <= u = 2^-24, s_j the partial sums. With the usual model of
    independent, centred d_j its variance is at most u^2 sum s_j^2. Partial sums of a lane behave
    between two extremes: terms of random sign (|s_j| about the 2-norm of the lane's terms) and
    terms of one sign (|s_j| up to the lane's result). Summed over the lanes both give sum s_j^2 <=
    n max(y^2, ||x*w||_2^2), so

        standard deviation of a dot's error <= u sqrt(n) max(|y|, ||x*w||_2).

    The other operations carry a fixed number of roundings of relative size u: residual and bias 1,
    norm 3 plus its dot, silu times up 6, rope tables and products 2, exp 4 plus |argument| (the
    elementary functions are polynomials good to a few ulp), normalizer its sum plus 1.

    Propagation. To first order the error of the logits is linear in the local errors, with a
    Jacobian no closed form knows. So it is measured: `Perturbed` runs the same pass in float64
    with random local errors of exactly those standard deviations, which makes the logits' errors a
    sample of the modelled distribution. The largest deviation over all rows, the vocabulary and
    `trials` runs is a few standard deviations of the worst logit; `factor` widens it to more than
    ten. Real errors are smaller still, since |d_j| averages u/2 and lanes mix both extremes; an
    error of another kind (a 16-bit rounding, 2^-11 or 2^-8) is thousands of times larger and does
    not pass.
    """
    return factor * _worst_deviation(oracle, exact, [Perturbed(trial) for trial in range(trials)])


def storage_bound(
    oracle: Oracle,
    exact: Result,
    digits: int,
    trials: int = BOUND_TRIALS,
    factor: float = BOUND_FACTOR,
) -> float:
    """How far logits may be from `exact.logits` because keys and values are stored narrower.

    Rounding to a significand of `digits` binary digits moves a value by at most 2^-digits of
    itself (11 for f16 above its subnormals, 8 for bf16), either way: with independent, centred
    errors of that size, `NarrowCache` samples the modelled distribution of the logits' errors as
    rounding_bound does for arithmetic, and `factor` widens the largest seen in the same way. It
    bounds the storage alone: rounding_bound comes on top.
    """
    passes = [NarrowCache(trial, 2.0**-digits) for trial in range(trials)]
    return factor * _worst_deviation(oracle, exact, passes)


def _worst_deviation(oracle: Oracle, exact: Result, passes: list[Exact]) -> float:
    """The largest deviation of a logit from `exact.logits` over passes with errors."""
    worst = 0.0
    for ops in passes:
        noisy = oracle.generate(exact.prompt_ids, len(exact.ids), forced=exact.ids, ops=ops)
        worst = max(worst, float(np.max(np.abs(noisy.logits - exact.logits))))
    return worst


def parse_ids(text: str) -> list[int]:
    """'1,2,3' to [1, 2, 3]."""
    return [int(part) for part in text.split(",") if part.strip()]


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="float64 Llama oracle")
    parser.add_argument("-m", "--model", type=Path, required=True, help="checkpoint folder")
    parser.add_argument("--ids", type=parse_ids, required=True, help="prompt ids, comma separated")
    parser.add_argument("-n", "--count", type=int, default=16, help="tokens to choose")
    parser.add_argument("--forced", type=parse_ids, help="take these ids instead of the argmax")
    parser.add_argument("--ignore-eos", action="store_true")
    parser.add_argument("--json", type=Path, help="write ids, min_margin (default: stdout)")
    parser.add_argument("--logits", type=Path, help="write float64 logits [n, vocab] as .npy")
    parser.add_argument("--taps", type=Path, help="write each layer's output as .npz")
    parser.add_argument("--bound", action="store_true", help="add the f32 rounding bound")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Runs one generation and writes what was asked for."""
    options = parse_arguments(arguments)
    oracle = Oracle(options.model)
    count = len(options.forced) if options.forced else options.count
    tapped = options.taps is not None
    result = oracle.generate(
        options.ids, count, options.forced, options.ignore_eos, tapped=tapped
    )
    report = {"prompt_ids": result.prompt_ids, "ids": result.ids, "min_margin": result.min_margin}
    if options.bound:
        report["error_bound"] = rounding_bound(oracle, result)
    text = json.dumps(report) + "\n"
    if options.json:
        options.json.write_text(text)
    else:
        sys.stdout.write(text)
    if options.logits:
        np.save(options.logits, result.logits)
    if tapped:
        np.savez(options.taps, **result.taps)
    return 0


if __name__ == "__main__":
    sys.exit(main())
