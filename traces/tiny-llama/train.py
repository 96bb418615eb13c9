#!/usr/bin/env python3
"""Train the tiny byte-level Llama model of this directory, or evaluate it.

Train (needs numpy and PyTorch; one CPU thread, deterministic for a given PyTorch build and CPU):

    python3 train.py --text tinystories_train_excerpt.txt --out DIR

writes config.json, model.safetensors, tokens_calib.safetensors and tokens_eval.safetensors to
DIR. The defaults are the settings of the shipped files.

Evaluate (needs numpy only):

    python3 train.py --eval DIR

runs the model of DIR over DIR/tokens_eval.safetensors with a second implementation of the forward
pass, which shares no code with the one used in training, and prints the mean loss in nats per
predicted token (all tokens of a sequence but its first) and the perplexity. The stored weights are
widened to FP32 (--fp64: to FP64) and everything is computed in that precision.

The text file holds one story after another. A single newline ends a story; two newlines are a
paragraph break inside one. Tokens are bytes; byte 0 is the beginning-of-sequence token.
"""

import argparse
import json
import math
import os
import re
import struct
import sys
import time

import numpy as np

BOS = 0
MAX_TOKENS = 256        # longest sequence, BOS included
MIN_STORY = 64          # bytes; shorter stories are fragments
EVAL_STORIES = 64
CALIB_STORIES = 128
VALID_STORIES = 32      # held out too: the checkpoint is selected on these, not on the eval ones

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 32,
    "vocab_size": 256,
    "max_position_embeddings": MAX_TOKENS,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "initializer_range": 0.02,
    "tie_word_embeddings": True,
    "bos_token_id": BOS,
    "eos_token_id": BOS,
    "torch_dtype": "float16",
}

SOURCE = "TinyStories (Eldan and Li, 2023), excerpt of the training set"
DATA_LICENCE = "CDLA-Sharing-1.0"
PRODUCER = "traces/tiny-llama/train.py"


# ---------------------------------------------------------------------------- safetensors files

NUMPY_TYPE = {"F16": "<f2", "F32": "<f4", "I32": "<i4", "I64": "<i8"}


def write_safetensors(path, tensors, metadata):
    """Write a dict of numpy arrays, in its order; the header is space-padded to 8 bytes."""
    name_of = {np.dtype(v): k for k, v in NUMPY_TYPE.items()}
    header, blobs, end = {"__metadata__": metadata}, [], 0
    for name, array in tensors.items():
        blob = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": name_of[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [end, end + len(blob)],
        }
        blobs.append(blob)
        end += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def read_safetensors(path):
    """Read every tensor of a file into a dict of numpy arrays."""
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, t in header.items():
        begin, end = (8 + size + x for x in t["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], NUMPY_TYPE[t["dtype"]]).reshape(t["shape"])
    return tensors


def write_tokens(path, sequences, what, seed):
    offsets = np.cumsum([0] + [len(s) for s in sequences])
    metadata = {
        "what": what + "; sequence i is ids[offsets[i]:offsets[i+1]]",
        "tokenizer": "bytes: a token is a byte of the text, 0 is the BOS token",
        "text": SOURCE,
        "licence": DATA_LICENCE,
        "seed": str(seed),
        "producer": PRODUCER,
    }
    tensors = {
        "ids": np.concatenate(sequences).astype("<i4"),
        "offsets": offsets.astype("<i8"),
    }
    write_safetensors(path, tensors, metadata)


# ------------------------------------------------------------------------------------------ data

def read_stories(path):
    """The stories of a text file, as bytes, without fragments and those with broken encoding."""
    with open(path, encoding="utf-8", newline="\n") as f:
        parts = re.split(r"(?<!\n)\n(?!\n)", f.read())
    stories = [p.strip() for p in parts]
    # Every story of the source that is not plain ASCII has mis-decoded quotation marks.
    return [s.encode() for s in stories if len(s) >= MIN_STORY and s.isascii() and "\0" not in s]


def story_sequence(story):
    """BOS and the beginning of the story, at most MAX_TOKENS tokens."""
    return np.frombuffer((bytes([BOS]) + story)[:MAX_TOKENS], np.uint8).astype(np.int32)


def split_stories(stories, seed):
    """Shuffle the stories and deal them out: evaluation, validation, training."""
    order = np.random.default_rng(seed).permutation(len(stories))
    shuffled = [stories[i] for i in order]
    held = EVAL_STORIES + VALID_STORIES
    return shuffled[:EVAL_STORIES], shuffled[EVAL_STORIES:held], shuffled[held:]


class Batches:
    """Windows of the training text: BOS story BOS story ... BOS.

    Half of the windows begin with the BOS of a story, as the evaluated sequences do; the others
    begin anywhere.
    """

    def __init__(self, stories, batch, seed):
        text = b"".join(bytes([BOS]) + s for s in stories)
        lengths = [len(s) + 1 for s in stories]
        self.starts = np.cumsum([0] + lengths[:-1])
        self.size = len(text)
        wrapped = text + text[:MAX_TOKENS + 1]
        self.text = np.frombuffer(wrapped, np.uint8).astype(np.int64)
        self.batch = batch
        self.rng = np.random.default_rng(seed)

    def next(self):
        half = self.batch // 2
        first = np.concatenate([
            self.rng.choice(self.starts, half),
            self.rng.integers(self.size, size=self.batch - half),
        ])
        return self.text[first[:, None] + np.arange(MAX_TOKENS + 1)]


# ----------------------------------------------------------------- evaluation: numpy forward pass

def np_rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + x.dtype.type(eps)) * weight


def np_rotate(x, theta):
    """Rotary embedding, half-split layout: element i of a head is paired with i + head_dim/2."""
    tokens, _, dim = x.shape
    half = dim // 2
    angle = np.outer(np.arange(tokens), theta ** (-np.arange(half) / half))[:, None, :]
    cos, sin = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def np_forward(cfg, w, ids):
    """Logits [tokens, vocabulary] of one sequence."""
    heads, kv_heads = cfg["num_attention_heads"], cfg["num_key_value_heads"]
    dim = cfg.get("head_dim") or cfg["hidden_size"] // heads
    eps, theta, n = cfg["rms_norm_eps"], cfg["rope_theta"], len(ids)
    hidden_future = np.triu(np.ones((n, n), bool), 1)
    x = w["model.embed_tokens.weight"][ids]
    for layer in range(cfg["num_hidden_layers"]):
        def p(name):
            return w[f"model.layers.{layer}.{name}.weight"]
        h = np_rms_norm(x, p("input_layernorm"), eps)
        q = np_rotate((h @ p("self_attn.q_proj").T).reshape(n, heads, dim), theta)
        k = np_rotate((h @ p("self_attn.k_proj").T).reshape(n, kv_heads, dim), theta)
        v = (h @ p("self_attn.v_proj").T).reshape(n, kv_heads, dim)
        mixed = np.empty_like(q)
        for head in range(heads):
            kv = head // (heads // kv_heads)
            score = q[:, head] @ k[:, kv].T / x.dtype.type(math.sqrt(dim))
            score[hidden_future] = -np.inf
            prob = np.exp(score - score.max(axis=-1, keepdims=True))
            prob /= prob.sum(axis=-1, keepdims=True)
            mixed[:, head] = prob @ v[:, kv]
        x = x + mixed.reshape(n, heads * dim) @ p("self_attn.o_proj").T
        h = np_rms_norm(x, p("post_attention_layernorm"), eps)
        gate = h @ p("mlp.gate_proj").T
        gate = gate / (1 + np.exp(-gate))
        x = x + (gate * (h @ p("mlp.up_proj").T)) @ p("mlp.down_proj").T
    x = np_rms_norm(x, w["model.norm.weight"], eps)
    return x @ w.get("lm_head.weight", w["model.embed_tokens.weight"]).T


def evaluate(directory, dtype=np.float32):
    """(mean loss in nats, number of predicted tokens) over tokens_eval.safetensors."""
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as f:
        cfg = json.load(f)
    stored = read_safetensors(os.path.join(directory, "model.safetensors"))
    weights = {k: v.astype(dtype) for k, v in stored.items()}
    tokens = read_safetensors(os.path.join(directory, "tokens_eval.safetensors"))
    ids, offsets = tokens["ids"], tokens["offsets"]
    total, count = 0.0, 0
    for begin, end in zip(offsets[:-1], offsets[1:]):
        seq = ids[begin:end]
        logits = np_forward(cfg, weights, seq[:-1])
        top = logits.max(axis=-1)
        log_sum = top + np.log(np.exp(logits - top[:, None]).sum(axis=-1))
        nats = log_sum - logits[np.arange(len(seq) - 1), seq[1:]]
        total += float(nats.sum(dtype=np.float64))
        count += len(nats)
    return total / count, count


def print_evaluation(directory, dtype):
    loss, count = evaluate(directory, dtype)
    print(f"{np.dtype(dtype).name}: loss {loss:.4f} nats per token, perplexity "
          f"{math.exp(loss):.4f}, {count} predicted tokens")


# ------------------------------------------------------------------- training: PyTorch model

def build_model(cfg, dropout):
    """A module whose parameter names are those of Hugging Face's LlamaForCausalLM."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    hidden, inner = cfg["hidden_size"], cfg["intermediate_size"]
    heads, kv_heads, dim = cfg["num_attention_heads"], cfg["num_key_value_heads"], cfg["head_dim"]
    eps = cfg["rms_norm_eps"]

    frequency = cfg["rope_theta"] ** (-torch.arange(0, dim, 2).double() / dim)
    angle = torch.outer(torch.arange(cfg["max_position_embeddings"]).double(), frequency)
    cos = torch.cat([angle, angle], -1).cos().float()
    sin = torch.cat([-angle, angle], -1).sin().float()

    def rotate(x):
        n = x.shape[-2]
        return x * cos[:n] + x.roll(dim // 2, -1) * sin[:n]

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q_proj = nn.Linear(hidden, heads * dim, bias=False)
            self.k_proj = nn.Linear(hidden, kv_heads * dim, bias=False)
            self.v_proj = nn.Linear(hidden, kv_heads * dim, bias=False)
            self.o_proj = nn.Linear(heads * dim, hidden, bias=False)

        def forward(self, x):
            b, n, _ = x.shape
            q = rotate(self.q_proj(x).view(b, n, heads, dim).transpose(1, 2))
            k = rotate(self.k_proj(x).view(b, n, kv_heads, dim).transpose(1, 2))
            v = self.v_proj(x).view(b, n, kv_heads, dim).transpose(1, 2)
            k = k.repeat_interleave(heads // kv_heads, 1)
            v = v.repeat_interleave(heads // kv_heads, 1)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.o_proj(y.transpose(1, 2).reshape(b, n, heads * dim))

    class Mlp(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate_proj = nn.Linear(hidden, inner, bias=False)
            self.up_proj = nn.Linear(hidden, inner, bias=False)
            self.down_proj = nn.Linear(inner, hidden, bias=False)

        def forward(self, x):
            return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.self_attn, self.mlp = Attention(), Mlp()
            self.input_layernorm = nn.RMSNorm(hidden, eps)
            self.post_attention_layernorm = nn.RMSNorm(hidden, eps)

        def forward(self, x):
            x = x + F.dropout(self.self_attn(self.input_layernorm(x)), dropout, self.training)
            return x + F.dropout(self.mlp(self.post_attention_layernorm(x)), dropout, self.training)

    class Body(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed_tokens = nn.Embedding(cfg["vocab_size"], hidden)
            self.layers = nn.ModuleList(Layer() for _ in range(cfg["num_hidden_layers"]))
            self.norm = nn.RMSNorm(hidden, eps)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = Body()

        def forward(self, ids):
            x = self.model.embed_tokens(ids)
            for layer in self.model.layers:
                x = layer(x)
            return F.linear(self.model.norm(x), self.model.embed_tokens.weight)

    model = Model()
    for name, p in model.named_parameters():
        if p.dim() == 2:
            into_residual = name.endswith(("o_proj.weight", "down_proj.weight"))
            shrink = math.sqrt(2 * cfg["num_hidden_layers"]) if into_residual else 1.0
            std = cfg["initializer_range"] if "embed" in name else p.shape[1] ** -0.5
            nn.init.normal_(p, 0.0, std / shrink)
    return model


def torch_loss(model, sequences):
    """Mean loss in nats over the predicted tokens of the sequences."""
    import torch
    from torch.nn import functional as F

    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for seq in sequences:
            ids = torch.from_numpy(seq.astype(np.int64))
            logits = model(ids[None, :-1])[0]
            total += F.cross_entropy(logits, ids[1:], reduction="sum").item()
            count += len(seq) - 1
    model.train()
    return total / count


def train(args):
    import torch
    from torch.nn import functional as F

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.manual_seed(args.seed)

    stories = read_stories(args.text)
    held_eval, held_valid, training = split_stories(stories, args.seed)
    eval_sequences = [story_sequence(s) for s in held_eval]
    valid_sequences = [story_sequence(s) for s in held_valid]
    calib_sequences = [story_sequence(s) for s in training[:CALIB_STORIES]]
    batches = Batches(training, args.batch, args.seed)
    print(f"{len(stories)} stories; {len(training)} for training, {batches.size} tokens")

    model = build_model(CONFIG, args.dropout)
    matrices = [p for p in model.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    print(f"{sum(p.numel() for p in matrices + vectors)} parameters")
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": args.weight_decay},
         {"params": vectors, "weight_decay": 0.0}],
        lr=args.lr, betas=(0.9, 0.98), fused=True)

    def schedule(step):
        if step < args.warmup:
            return (step + 1) / args.warmup
        done = (step - args.warmup) / max(1, args.steps - args.warmup)
        return 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * done))

    best, best_step, best_state = math.inf, 0, None
    begin, running = time.time(), 0.0
    for step in range(1, args.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = args.lr * schedule(step - 1)
        window = torch.from_numpy(batches.next())
        logits = model(window[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, CONFIG["vocab_size"]), window[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        running += loss.item()
        since = (step - 1) % args.report + 1
        if since == args.report or step == args.steps:
            valid = torch_loss(model, valid_sequences)
            print(f"step {step:6d}  train {running / since:.4f}  validation {valid:.4f}  "
                  f"{time.time() - begin:.0f} s", flush=True)
            running = 0.0
            if valid < best:
                best, best_step = valid, step
                best_state = {k: v.clone() for k, v in model.state_dict().items()}
    seen = args.steps * args.batch * MAX_TOKENS
    print(f"kept the weights of step {best_step}; {seen} tokens seen")

    # From here on the weights are the F16 ones.
    rounded = {k: v.half() for k, v in best_state.items()}
    model.load_state_dict({k: v.float() for k, v in rounded.items()})
    os.makedirs(args.out, exist_ok=True)

    def out(name):
        return os.path.join(args.out, name)

    with open(out("config.json"), "w", encoding="utf-8") as f:
        f.write(json.dumps(CONFIG, indent=2) + "\n")
    write_safetensors(out("model.safetensors"), {k: v.numpy() for k, v in rounded.items()}, {
        "format": "pt",
        "what": "byte-level Llama trained on " + SOURCE,
        "licence": "weights Apache-2.0; training data " + DATA_LICENCE,
        "seed": str(args.seed),
        "producer": PRODUCER,
    })
    write_tokens(out("tokens_eval.safetensors"), eval_sequences,
                 "byte tokens of stories held out of training, BOS first", args.seed)
    write_tokens(out("tokens_calib.safetensors"), calib_sequences,
                 "byte tokens of stories of the training part, BOS first", args.seed)

    first = torch_loss(model, eval_sequences)
    print(f"evaluation loss, PyTorch: {first:.6f}")
    second, _ = evaluate(args.out)
    print_evaluation(args.out, np.float32)
    if abs(first - second) > 1e-4:
        sys.exit(f"error: the two forward passes disagree: {first:.6f} and {second:.6f}")


def main():
    parser = argparse.ArgumentParser(
        description="Train the tiny byte-level Llama model, or evaluate it (--eval).")
    parser.add_argument("--text", help="file of stories to train on")
    parser.add_argument("--out", help="directory to write the model and the token files to")
    parser.add_argument("--eval", metavar="DIR", help="evaluate the model of DIR, numpy only")
    parser.add_argument("--fp64", action="store_true", help="evaluate in FP64 instead of FP32")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--batch", type=int, default=8, help="windows of 256 tokens per step")
    parser.add_argument("--lr", type=float, default=3e-3, help="peak learning rate")
    parser.add_argument("--warmup", type=int, default=200, help="steps of linear warm-up")
    parser.add_argument("--weight-decay", type=float, default=0.1)
    parser.add_argument("--dropout", type=float, default=0.05)
    parser.add_argument("--report", type=int, default=250, help="steps between validations")
    args = parser.parse_args()
    if args.eval:
        print_evaluation(args.eval, np.float64 if args.fp64 else np.float32)
    elif args.text and args.out:
        train(args)
    else:
        parser.error("give --text and --out, or --eval")


if __name__ == "__main__":
    main()
