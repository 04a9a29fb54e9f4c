#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The callbacks for Lightning and Hugging Face's Trainer, and a loop of one's own, each in a
training of six steps on the CPU, with the real packages and the real plugin. Ends with an
exception, or prints "ok".

    NCCL_PROFILER_PLUGIN=... RINGSIDE_DIR=... trainers.py loop|lightning|transformers
"""

import itertools
import pathlib
import sys
import tempfile
import types

import nccl_ringside
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python" / "tests"))
import caller  # noqa: E402

STEPS = 6
DATA = torch.randn(STEPS, 4)


def with_loop(communicator, schedule, **arguments):
    """Beside PyTorch's profiler it needs one argument."""
    theirs = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                    schedule=schedule)
    ours = nccl_ringside.Profiler(theirs, **arguments)
    with theirs, ours:
        for step in range(STEPS):
            communicator.all_reduce(step + 1)
            theirs.step()
            ours.step()
    # For programs without PyTorch there is the same schedule.
    for numbers in itertools.product((0, 2), (0, 1), (1, 3), (0, 2), (0, 1)):
        named = dict(zip(("wait", "warmup", "active", "repeat", "skip_first"), numbers))
        same = nccl_ringside.schedule(**named), torch.profiler.schedule(**named)
        actions = [(same[0](step), same[1](step).name) for step in range(30)]
        assert all(one == other for one, other in actions), named
    return types.SimpleNamespace(profiler=ours)


def with_lightning(communicator, **arguments):
    import lightning.pytorch as lightning
    from nccl_ringside.lightning import RingsideCallback

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch, index):
            communicator.all_reduce(index + 1)
            return self.layer(batch).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)
    callback = RingsideCallback(**arguments)
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=1, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, callbacks=[callback])
    trainer.fit(Module(), torch.utils.data.DataLoader(DATA))
    return callback


def with_transformers(communicator, **arguments):
    import transformers
    from nccl_ringside.transformers import RingsideCallback

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.calls = torch.nn.Linear(4, 1), 0

        def forward(self, x):
            self.calls += 1
            communicator.all_reduce(self.calls)
            return {"loss": self.layer(x).sum()}
    callback = RingsideCallback(**arguments)
    with tempfile.TemporaryDirectory() as directory:
        transformers.Trainer(
            model=Module(), train_dataset=[{"x": row} for row in DATA], callbacks=[callback],
            args=transformers.TrainingArguments(
                directory, use_cpu=True, num_train_epochs=1, per_device_train_batch_size=1,
                save_strategy="no", report_to=[], disable_tqdm=True)).train()
    return callback


def main():
    communicator, ready = caller.Communicator(), []
    train = {"loop": with_loop, "lightning": with_lightning,
             "transformers": with_transformers}[sys.argv[1]]
    callback = train(communicator,
                     schedule=torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
                     on_trace_ready=lambda profiler: ready.append(profiler.step_num))
    communicator.all_reduce(100)  # after it
    communicator.destroy()
    assert (callback.profiler.step_num, ready) == (STEPS, [4]), (callback.profiler.step_num, ready)
    print("ok")


if __name__ == "__main__":
    main()
