"""Trains a small network to know a page of text by heart, recording with headway.

The program is restarted whenever it dies: it goes on from its last checkpoint. Twice it is killed
with SIGKILL in the middle of a step; the seed decides at which.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import headway

LENGTH = 40  # characters a sequence
SEQUENCES = 32
LEARNING_RATE = 0.01
SAVE_EVERY = 50
EVALUATE_EVERY = 100
REPORT_EVERY = 25
HERE = Path(__file__).resolve().parent


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", choices=["numpy", "jax"], default="numpy")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, required=True, help="for checkpoints")
    return parser.parse_args()


def kill_steps(seed: int, steps: int) -> list[int]:
    """The steps in which the program dies, each once."""
    rng = random.Random(seed)
    return [int(steps * rng.uniform(0.3, 0.5)), int(steps * rng.uniform(0.6, 0.9))]


def maybe_die(step: int, deadly: list[int], folder: Path) -> None:
    """A crash as real as any: no cleanup runs, nothing is flushed."""
    if step not in deadly:
        return
    mark = folder / f"died-in-step-{step}"
    if mark.exists():
        return
    mark.touch()
    print(f"           step {step}: killed", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    args = arguments()
    started = time.monotonic()
    run = headway.init(project="demo", config={"steps": args.steps, "framework": args.framework})

    with run.accelerator_init():
        if args.framework == "jax":
            from jax_model import Model
        else:
            from numpy_model import Model  # type: ignore[assignment]
        import numpy as np

        import checkpoint

    with run.training_prep():
        text = (HERE / "text.txt").read_text()
        alphabet = sorted(set(text))
        tokens = np.array([alphabet.index(character) for character in text])
        windows = tokens[np.arange(LENGTH + 1)[:, None] + np.arange(len(tokens) - LENGTH)]
        held = windows[:, :: len(tokens) // 128]
        model: Any = Model(len(alphabet), args.seed)
        deadly = kill_steps(args.seed, args.steps)
        args.folder.mkdir(parents=True, exist_ok=True)

    first = 0
    found = checkpoint.newest(args.folder)
    if found is not None:
        with run.checkpoint_restore():
            model.state = checkpoint.load(found[1])
        first = found[0] + 1
        print(f"           resumed after step {found[0]}", flush=True)
    else:
        print(
            f"           {model.name}, {args.steps} steps; it will be killed in two of them",
            flush=True,
        )

    def evaluate() -> float:
        with run.span("eval"):
            return float(model.loss(held))

    for step in range(first, args.steps):
        with run.data_loading():
            # By step number, so that a step that is repeated is the same step.
            rng = np.random.default_rng((args.seed, step))
            batch = windows[:, rng.integers(0, windows.shape[1], SEQUENCES)]
        with run.step(step):
            decay = 0.5 + 0.5 * math.cos(math.pi * step / args.steps)
            rate = LEARNING_RATE * min(1.0, (step + 1) / 20) * decay + 1e-4
            loss = model.train_step(batch, rate)
            maybe_die(step, deadly, args.folder)
        done = step + 1
        if done % REPORT_EVERY == 0 or step == first:
            # For a device's array this waits for the device, so not in every step.
            value = float(loss)
            run.log({"loss": value, "learning_rate": rate}, step=step)
            print(
                f"  {time.monotonic() - started:6.1f} s  step {step:4}  "
                f"{value / math.log(2):.2f} bits a character",
                flush=True,
            )
        if done % EVALUATE_EVERY == 0:
            run.log({"eval_loss": evaluate()}, step=step)
        if done % SAVE_EVERY == 0:
            with run.checkpoint_save(step=step):
                checkpoint.save(args.folder, step, model.state)
            run.checkpoint_saved(step)

    with run.span("sample"):
        start = text[: text.index(" has")]
        likely = model.sample(np.array([alphabet.index(c) for c in start]), 240)
        recited = start + "".join(alphabet[token] for token in likely)
        recited = recited[: recited.rfind(".") + 1] or recited
    print("\n  What it has learned to say:\n")
    print("    " + recited.replace("\n", "\n    "), flush=True)
    run.finish()


if __name__ == "__main__":
    main()
