"""A character-level GRU in NumPy, with the backward pass and Adam written out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Tokens = NDArray[np.int64]
State = dict[str, NDArray[Any]]

EMBEDDING = 24
HIDDEN = 112


def sigmoid(x: Array) -> Array:
    result: Array = np.float32(0.5) * (np.tanh(np.float32(0.5) * x) + np.float32(1))
    return result


class Model:
    """Learns to guess the next character. `state` is all there is to save and restore."""

    name = "NumPy"

    def __init__(self, vocabulary: int, seed: int) -> None:
        rng = np.random.default_rng(seed)

        def weights(rows: int, columns: int) -> Array:
            return rng.normal(0, rows**-0.5, (rows, columns)).astype(np.float32)

        self.state: State = {
            "embedding": weights(vocabulary, EMBEDDING),
            "input": weights(EMBEDDING, 3 * HIDDEN),  # gates: update, reset, candidate
            "recurrent": weights(HIDDEN, 3 * HIDDEN),
            "bias": np.zeros(3 * HIDDEN, np.float32),
            "output": weights(HIDDEN, vocabulary),
            "output_bias": np.zeros(vocabulary, np.float32),
        }
        self.names = list(self.state)
        for name in self.names:
            self.state["mean/" + name] = np.zeros_like(self.state[name])
            self.state["square/" + name] = np.zeros_like(self.state[name])
        self.state["updates"] = np.array(0)

    def train_step(self, batch: Tokens, learning_rate: float) -> float:
        """One update on `batch` [length + 1, sequences]; returns the loss in nats a character."""
        loss, gradients = self._backward(batch)
        norm = float(np.sqrt(sum(np.vdot(g, g) for g in gradients.values())))
        scale = min(1.0, 1.0 / (norm + 1e-6))
        self.state["updates"] = self.state["updates"] + 1
        count = int(self.state["updates"])
        rate = learning_rate * (1 - 0.999**count) ** 0.5 / (1 - 0.9**count)
        for name in self.names:
            gradient = gradients[name] * np.float32(scale)
            mean, square = self.state["mean/" + name], self.state["square/" + name]
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient * gradient - square)
            self.state[name] -= (rate * mean / (np.sqrt(square) + 1e-8)).astype(np.float32)
        return loss

    def loss(self, batch: Tokens) -> float:
        return self._forward(batch)[0]

    def sample(self, start: Tokens, length: int) -> list[int]:
        """The likeliest continuation of `start` [characters]."""
        hidden: Array = np.zeros((1, HIDDEN), np.float32)
        out: list[int] = []
        token = int(start[0])
        for i in range(1, len(start) + length):
            hidden = self._cell(self.state["embedding"][[token]] @ self.state["input"], hidden)[0]
            guess = int(np.argmax(hidden @ self.state["output"] + self.state["output_bias"]))
            token = int(start[i]) if i < len(start) else guess
            if i >= len(start):
                out.append(token)
        return out

    def _cell(self, from_input: Array, hidden: Array) -> tuple[Array, Array, Array, Array]:
        """One time step: the new hidden state, both gates and the candidate."""
        sum_ = from_input + self.state["bias"]
        recurrent = hidden @ self.state["recurrent"]
        gates = sigmoid(sum_[:, : 2 * HIDDEN] + recurrent[:, : 2 * HIDDEN])
        update, reset = gates[:, :HIDDEN], gates[:, HIDDEN:]
        candidate = np.tanh(sum_[:, 2 * HIDDEN :] + reset * recurrent[:, 2 * HIDDEN :])
        return candidate + update * (hidden - candidate), update, reset, candidate

    def _forward(self, batch: Tokens) -> tuple[float, list[Array], list[tuple[Array, ...]], Array]:
        inputs, targets = batch[:-1], batch[1:]
        length, sequences = inputs.shape
        from_input = self.state["embedding"][inputs] @ self.state["input"]
        hidden: list[Array] = [np.zeros((sequences, HIDDEN), np.float32)]
        cells: list[tuple[Array, ...]] = []
        for t in range(length):
            new, *gates = self._cell(from_input[t], hidden[-1])
            hidden.append(new)
            cells.append(tuple(gates))
        logits: Array = np.stack(hidden[1:]) @ self.state["output"] + self.state["output_bias"]
        logits -= logits.max(axis=-1, keepdims=True)
        odds: Array = np.exp(logits)
        odds /= odds.sum(axis=-1, keepdims=True)
        picked = np.take_along_axis(odds, targets[..., None], axis=-1)
        return float(-np.log(picked + 1e-12).mean()), hidden, cells, odds

    def _backward(self, batch: Tokens) -> tuple[float, State]:
        inputs, targets = batch[:-1], batch[1:]
        length, sequences = inputs.shape
        loss, hidden, cells, error = self._forward(batch)
        states = np.stack(hidden)
        rows = np.arange(length)[:, None], np.arange(sequences)[None, :]
        error[rows[0], rows[1], targets] -= 1
        error /= error.shape[0] * sequences
        recurrent_weights = self.state["recurrent"]
        candidate_weights = recurrent_weights[:, 2 * HIDDEN :]

        # What each gate's sum and the recurrent product contribute, from the last character back.
        to_sum = np.empty((length, sequences, 3 * HIDDEN), np.float32)
        to_recurrent = np.empty_like(to_sum)
        flow = np.zeros((sequences, HIDDEN), np.float32)
        from_output = error @ self.state["output"].T
        for t in reversed(range(length)):
            update, reset, candidate = cells[t]
            before = states[t]
            flow = flow + from_output[t]
            to_candidate = flow * (1 - update) * (1 - candidate * candidate)
            to_update = flow * (before - candidate) * update * (1 - update)
            to_reset = to_candidate * (before @ candidate_weights) * reset * (1 - reset)
            to_sum[t] = np.concatenate([to_update, to_reset, to_candidate], axis=1)
            to_recurrent[t] = to_sum[t]
            to_recurrent[t, :, 2 * HIDDEN :] *= reset
            flow = flow * update + to_recurrent[t] @ recurrent_weights.T

        flat = to_sum.reshape(-1, 3 * HIDDEN)
        embedded = self.state["embedding"][inputs].reshape(-1, EMBEDDING)
        to_embedding = np.zeros_like(self.state["embedding"])
        np.add.at(to_embedding, inputs.ravel(), flat @ self.state["input"].T)
        error_flat = error.reshape(-1, error.shape[-1])
        return loss, {
            "embedding": to_embedding,
            "input": embedded.T @ flat,
            "recurrent": states[:-1].reshape(-1, HIDDEN).T @ to_recurrent.reshape(-1, 3 * HIDDEN),
            "bias": flat.sum(axis=0),
            "output": states[1:].reshape(-1, HIDDEN).T @ error_flat,
            "output_bias": error_flat.sum(axis=0),
        }
