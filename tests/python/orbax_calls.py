"""Programs that save and restore with the real Orbax, each with a stopwatch around every call.

``orbax_calls.py NAME FOLDER`` runs one of them and prints a list of what it called: the kind of
span that is expected, begin and end in nanoseconds since the epoch, and the step.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import headway

calls: list[tuple[str, int, int, int | None]] = []


def timed(kind: str, call: Callable[[], Any], step: int | None = None) -> Any:
    """Calls, and notes the time, also of a call that fails."""
    begin = time.time_ns()
    try:
        return call()
    except Exception as error:
        return error
    finally:
        calls.append((kind, begin, time.time_ns(), step))


def tree() -> dict[str, Any]:
    import numpy as np

    return {"a": np.arange(500_000.0), "b": np.ones(3)}


def managers(run: headway.Run, folder: Path) -> None:
    """Plain managers: asynchronous, synchronous, saving now and then only."""
    import orbax.checkpoint as ocp

    step = 0
    for name, options in (
        ("asynchronous", {}),
        ("synchronous", {"enable_async_checkpointing": False}),
        ("sparse", {"save_interval_steps": 3, "max_to_keep": 1}),
    ):
        manager = ocp.CheckpointManager(
            folder / name, options=ocp.CheckpointManagerOptions(**options)
        )
        for i in range(6):
            run.step(step)
            saves = name != "sparse" or i in (0, 3)
            timed("checkpoint_save" if saves else "", lambda at=i: manager.save(
                at, args=ocp.args.StandardSave(tree())), i)
            step += 1
        waits = "" if name == "synchronous" else "checkpoint_save"
        timed(waits, manager.wait_until_finished)
        timed("", manager.wait_until_finished)  # there is nothing to wait for
        run.step(step)
        last = manager.latest_step()
        timed("checkpoint_restore", lambda at=last: manager.restore(
            at, args=ocp.args.StandardRestore(tree())), last)
        timed("", manager.close)
        step += 1
        run.step(step)
        step += 1


def checkpointers(run: headway.Run, folder: Path) -> None:
    """Checkpointers without a manager; calls that fail; a span of the program's own."""
    import orbax.checkpoint as ocp

    run.step(0)
    with ocp.StandardCheckpointer() as standard:
        timed("checkpoint_save", lambda: standard.save(folder / "standard", tree()))
        timed("checkpoint_save", standard.wait_until_finished)
        timed("", standard.wait_until_finished)
        timed("checkpoint_restore", lambda: standard.restore(folder / "standard", tree()))
    run.step(1)
    plain = ocp.PyTreeCheckpointer()
    timed("checkpoint_save", lambda: plain.save(folder / "plain", tree()))
    timed("checkpoint_restore", lambda: plain.restore(folder / "plain"))
    run.step(2)
    error = timed("checkpoint_save", lambda: plain.save(folder / "plain", tree()))
    assert isinstance(error, ValueError), error
    error = timed("checkpoint_restore", lambda: plain.restore(folder / "nowhere"))
    assert isinstance(error, FileNotFoundError), error
    run.step(3)

    def own() -> None:
        with run.checkpoint_save(step=3):
            plain.save(folder / "own", tree())

    timed("checkpoint_save", own, 3)
    run.step(4)


def functions(run: headway.Run, folder: Path) -> None:
    """The functions of Orbax's version 1: no method to wrap, only events."""
    from orbax.checkpoint.experimental import v1

    save = getattr(v1, "save", None) or v1.save_pytree
    load = getattr(v1, "load", None) or v1.load_pytree
    save_async = getattr(v1, "save_async", None) or v1.save_pytree_async
    run.step(0)
    timed("checkpoint_save", lambda: save(folder / "one", tree()))
    timed("checkpoint_restore", lambda: load(folder / "one", tree()))
    run.step(1)
    response = timed("checkpoint_save", lambda: save_async(folder / "two", tree()))
    response.result()
    run.step(2)
    with v1.training.Checkpointer(folder / "training") as checkpointer:
        timed("checkpoint_save", lambda: checkpointer.save(2, tree()), 2)
        timed("checkpoint_restore", lambda: checkpointer.load(2, tree()), 2)
    run.step(3)


def slow(run: headway.Run, folder: Path) -> None:
    """A save waits for the one before it, through several heartbeats; one fails in the end."""
    import orbax.checkpoint as ocp

    def finish() -> None:
        time.sleep(2.5)
        if manager.all_steps() == [0, 1, 2]:
            raise OSError("no space left")

    options = ocp.CheckpointManagerOptions(
        async_options=ocp.AsyncOptions(post_finalization_callback=finish)
    )
    manager = ocp.CheckpointManager(folder / "slow", options=options)
    for step in range(3):
        run.step(step)
        timed("checkpoint_save", lambda at=step: manager.save(
            at, args=ocp.args.StandardSave(tree())), step)
    error = timed("checkpoint_save", manager.wait_until_finished)
    assert isinstance(error, OSError), error
    run.step(3)


def before(run: headway.Run, folder: Path) -> None:
    """Orbax was imported before the run was started; it stops with the run."""
    import orbax.checkpoint as ocp

    checkpointer = ocp.PyTreeCheckpointer()
    run.step(0)
    timed("checkpoint_save", lambda: checkpointer.save(folder / "one", tree()))
    run.step(1)
    headway.orbax.unwatch()
    timed("", lambda: checkpointer.save(folder / "two", tree()))
    second = headway.init(run="second")
    timed("", lambda: checkpointer.save(folder / "three", tree()))
    headway.orbax.watch()
    headway.orbax.watch()
    run.step(2)
    second.finish()
    timed("checkpoint_save", lambda: checkpointer.save(folder / "four", tree()))
    run.step(3)
    if os.fork() == 0:
        checkpointer.restore(folder / "one")
        os._exit(0)
    os.wait()
    thread = threading.Thread(target=lambda: checkpointer.restore(folder / "one"))
    thread.start()
    thread.join()  # overlapped: this thread takes the steps
    run.finish()
    checkpointer.restore(folder / "one")
    assert run.dropped == 0, run.dropped


def distributed(processes: int) -> int:
    """Makes them one JAX program; this one's rank."""
    import jax
    from absl import flags
    from orbax.checkpoint import multihost

    flags.FLAGS(sys.argv[:1])
    rank = int(os.environ["RANK"])
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{os.environ['PORT']}", processes, rank)
    multihost.initialize_runtime_to_distributed_ids()
    multihost.initialize_distributed_to_device_ids()
    return rank


def replicator(run: headway.Run, folder: Path) -> None:
    """The manager of multi-tier checkpoints, in one process."""
    import jax
    import numpy as np
    import orbax.checkpoint as ocp
    from etils import epath
    from orbax.checkpoint.experimental.emergency.multi_tier_checkpointing import (
        replicator_checkpoint_manager,
    )

    distributed(1)
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(1, -1), ("replica", "data"))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    state = jax.tree.map(lambda leaf: jax.device_put(leaf, sharding), tree())
    (folder / "local").mkdir()
    manager = replicator_checkpoint_manager.ReplicatorCheckpointManager(
        epath.Path(folder / "local"), global_mesh=mesh
    )
    run.step(0)
    timed("checkpoint_save", lambda: manager.save(
        1, args=ocp.args.Composite(state=ocp.args.PyTreeSave(state))), 1)
    timed("checkpoint_save", manager.wait_until_finished)
    run.step(1)
    restore = ocp.args.PyTreeRestore(
        item=state, restore_args=ocp.checkpoint_utils.construct_restore_args(state)
    )
    error = timed("checkpoint_restore", lambda: manager.restore(
        1, args=ocp.args.Composite(state=restore)), 1)
    assert not isinstance(error, Exception), error
    run.step(2)


def emergency(run: headway.Run, folder: Path) -> None:
    """Two processes, each a slice: the state comes back from a local copy by broadcast."""
    import jax
    import numpy as np
    import orbax.checkpoint as ocp
    from etils import epath
    from orbax.checkpoint.experimental.emergency import checkpoint_manager

    rank = distributed(2)
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, -1), ("replica", "data"))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    values = np.arange(100_000.0, dtype=np.float32)
    state = {"a": jax.make_array_from_callback(values.shape, sharding, lambda i: values[i])}
    for name in (f"local{rank}", "persistent"):
        (folder / name).mkdir(exist_ok=True)
    options = checkpoint_manager.CheckpointManagerOptions(
        local=checkpoint_manager.LocalCheckpointOptions(save_interval_steps=1),
        persistent=checkpoint_manager.PersistentCheckpointOptions(save_interval_steps=1),
    )
    manager = checkpoint_manager.CheckpointManager(
        epath.Path(folder / f"local{rank}"), epath.Path(folder / "persistent"),
        global_mesh=mesh, abstract_state=jax.tree.map(ocp.utils.to_shape_dtype_struct, state),
        options=options,
    )
    run.step(0)
    for step in (1, 2):
        timed("checkpoint_save", lambda at=step: manager.save(
            at, args=ocp.args.Composite(state=ocp.args.PyTreeSave(state))), step)
        run.step(step)
    timed("checkpoint_save", manager.wait_until_finished)
    run.step(3)
    restored = timed("checkpoint_restore", lambda: manager.restore(2), 2)
    assert not isinstance(restored, Exception), restored
    np.testing.assert_array_equal(np.asarray(restored["state"]["a"]), values)
    run.step(4)
    timed("", manager.close)


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    if name == "before":
        import orbax.checkpoint  # noqa: F401
    run = headway.init(run=name)
    globals()[name](run, folder)
    run.finish()
    print(json.dumps(calls))


if __name__ == "__main__":
    main()
