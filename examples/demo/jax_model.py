"""The same network in JAX: compiled, differentiated by JAX, dispatched asynchronously."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from numpy_model import HIDDEN
from numpy_model import Model as NumpyModel

Tree = dict[str, Any]


def hidden_states(params: Tree, inputs: Any) -> Any:
    from_input = params["embedding"][inputs] @ params["input"] + params["bias"]

    def cell(hidden: Any, sum_: Any) -> tuple[Any, Any]:
        recurrent = hidden @ params["recurrent"]
        gates = jax.nn.sigmoid(sum_[:, : 2 * HIDDEN] + recurrent[:, : 2 * HIDDEN])
        update, reset = gates[:, :HIDDEN], gates[:, HIDDEN:]
        candidate = jnp.tanh(sum_[:, 2 * HIDDEN :] + reset * recurrent[:, 2 * HIDDEN :])
        hidden = candidate + update * (hidden - candidate)
        return hidden, hidden

    return jax.lax.scan(cell, jnp.zeros((inputs.shape[1], HIDDEN)), from_input)[1]


@jax.jit
def mean_loss(params: Tree, batch: Any) -> Any:
    logits = hidden_states(params, batch[:-1]) @ params["output"] + params["output_bias"]
    odds = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(odds, batch[1:, :, None], axis=-1).mean()


@partial(jax.jit, donate_argnums=0)
def update(state: Tree, batch: Any, learning_rate: Any) -> tuple[Tree, Any]:
    params = {name: state[name] for name in state if "mean/" + name in state}
    loss, gradients = jax.value_and_grad(mean_loss)(params, batch)
    norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in gradients.values()))
    scale = jnp.minimum(1.0, 1.0 / (norm + 1e-6))
    count = state["updates"] + 1
    rate = learning_rate * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    new = {"updates": count}
    for name, value in params.items():
        gradient = gradients[name] * scale
        mean = state["mean/" + name] + 0.1 * (gradient - state["mean/" + name])
        square = state["square/" + name] + 0.001 * (gradient**2 - state["square/" + name])
        new |= {"mean/" + name: mean, "square/" + name: square}
        new[name] = value - rate * mean / (jnp.sqrt(square) + 1e-8)
    return new, loss


class Model:
    """As numpy_model.Model, but `train_step` returns while the device still works."""

    name = "JAX"

    def __init__(self, vocabulary: int, seed: int) -> None:
        self._host = NumpyModel(vocabulary, seed)
        self.state = self._host.state

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """Waits for the device."""
        return {name: np.asarray(value) for name, value in self._state.items()}

    @state.setter
    def state(self, state: dict[str, NDArray[Any]]) -> None:
        self._state = {name: jnp.asarray(value) for name, value in state.items()}

    def train_step(self, batch: NDArray[Any], learning_rate: float) -> Any:
        self._state, loss = update(self._state, batch, learning_rate)
        return loss

    def loss(self, batch: NDArray[Any]) -> float:
        params = {name: self._state[name] for name in self._host.names}
        return float(mean_loss(params, batch))

    def sample(self, start: NDArray[Any], length: int) -> list[int]:
        self._host.state = self.state
        return self._host.sample(start, length)
