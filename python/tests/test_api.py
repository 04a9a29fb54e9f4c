# SPDX-License-Identifier: Apache-2.0
"""The functions of the C API, with the plugin and without it."""

from __future__ import annotations

import ctypes
import errno
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Job, counts, named, plugin, read

from nccl_ringside import _library

Run = Callable[..., Job]


def test_what_is_called_in_the_block_is_recorded(run: Run) -> None:
    job = run(
        """
        import json
        import nccl_ringside as ringside
        from caller import Communicator
        world = Communicator()
        world.all_reduce(1)
        with ringside.profile():
            world.all_reduce(2)
            inside = ringside.status()

        @ringside.profile("coll")
        def step(count):
            world.all_reduce(count)

        world.all_reduce(3)
        step(4)
        assert ringside.dump("dump.json")
        world.destroy()
        after = ringside.status()
        print(json.dumps([inside.loaded, inside.started, inside.abi_version, inside.communicators,
                          inside.library, after.started, after.windows, after.reason]))
        """,
        RINGSIDE_START="0",
    )
    assert job.answer == [True, True, 4, 1, plugin(), False, 2, ""]
    assert counts(read(job.directory / "dump.json")) == [2 * 4, 4 * 4]
    assert counts(job.trace()) == [2 * 4, 4 * 4]


def test_it_is_asked_cheaply_whether_it_records(run: Run) -> None:
    job = run(
        """
        import json, os
        import nccl_ringside as ringside
        from nccl_ringside import _library
        is_recording = _library.search.library().ringside_is_recording
        answers = [is_recording()]
        ringside.stop()
        answers.append(is_recording())
        ringside.start()
        answers.append(is_recording())
        print(json.dumps(answers))
        """
    )
    assert job.answer == [1, 0, 1]


def test_marks_and_ranges_tell_the_line_of_the_program(run: Run) -> None:
    job = run(
        """
        import nccl_ringside as ringside
        from caller import Communicator
        world = Communicator()
        assert ringside.mark("näht\\0zu")

        @ringside.named_range("decorated")
        def function():
            world.all_reduce(1)

        with ringside.named_range("block"):
            function()
        assert ringside.push("by hand") and ringside.pop()
        world.destroy()
        """
    )
    text = [str(line) for line in job.trace()]
    for name in ("näht zu", "decorated", "block", "by hand"):
        assert any(name in line for line in text), name
    assert any("block" in line and "<string>:11" in line for line in text)
    assert any("decorated" in line and "<string>:12" in line for line in text)


def test_without_the_plugin_nothing_happens_and_the_status_says_why(run: Run) -> None:
    code = """
        import json
        import nccl_ringside as ringside
        with ringside.profile(), ringside.named_range("r"):
            ringside.mark("m")
        with ringside.Profiler() as profiler:
            profiler.step()
        print(json.dumps([ringside.available(), ringside.start(), ringside.stop(),
                          ringside.dump("no.json"), ringside.library_version(),
                          ringside.status().loaded, ringside.status().reason]))
        """
    job = run(code, NCCL_PROFILER_PLUGIN=None)
    assert job.answer[:6] == [False, False, False, False, None, False]
    assert "NCCL_PROFILER_PLUGIN is not set" in job.answer[6]
    job = run(code, NCCL_PROFILER_PLUGIN="no-such-plugin")
    assert job.answer[:6] == [False, False, False, False, None, False]
    assert "'no-such-plugin', which is not Ringside's" in job.answer[6]
    assert not (job.directory / "no.json").exists()
    assert not (job.directory / "traces").exists()
    assert job.err == ""


def test_the_import_is_cheap_and_has_the_module_for_torch(run: Run) -> None:
    job = run(
        """
        import json, sys
        import nccl_ringside
        heavy = [name for name in ("sqlite3", "subprocess", "tempfile", "torch", "nccl_ringside.torch")
                 if name in sys.modules]
        print(json.dumps([heavy, nccl_ringside.torch.annotate.__name__, nccl_ringside.load.__name__,
                          hasattr(nccl_ringside, "nothing")]))
        """
    )
    assert job.answer == [[], "annotate", "load", False]


def test_another_profilers_library_is_not_loaded_again_and_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    loaded: list[str] = []
    real = ctypes.CDLL

    def load(name: str, **named: Any) -> Any:
        loaded.append(name)
        return real(name, **named)

    monkeypatch.setattr(ctypes, "CDLL", load)
    monkeypatch.setattr(_library, "_SEARCH_AGAIN_S", 0.0)
    monkeypatch.setattr(_library, "_mapped", lambda: None)
    file = tmp_path / "other.so"
    file.write_bytes(b"ncclProfiler_v4")
    for name, times in (("libm.so.6", 1), (str(file), 0), ("None", 0)):
        monkeypatch.setenv("NCCL_PROFILER_PLUGIN", name)
        search = _library._Search()
        assert [search.library() for _ in range(3)] == [None] * 3
        assert loaded.count(name) == times, name
        assert name in search.why_not()


def test_a_plugin_that_the_environment_does_not_name_is_found(run: Run) -> None:
    job = run(
        """
        import ctypes, json, os, sys
        import nccl_ringside as ringside
        before = ringside.available()
        library = ctypes.CDLL(os.environ.pop("HIDDEN"), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        import time
        time.sleep(1.1)
        print(json.dumps([before, ringside.available(), ringside.status().library]))
        """,
        NCCL_PROFILER_PLUGIN=None,
        HIDDEN=plugin(),
    )
    assert job.answer[:2] == [False, True]
    assert job.answer[2].endswith("libnccl-profiler-ringside.so")


def test_what_is_wrong_is_an_error_and_what_is_harmless_is_not(run: Run) -> None:
    job = run(
        """
        import json, os, pickle
        import nccl_ringside as ringside
        errors = []
        for call in (lambda: ringside.start("coll,nothing"), lambda: ringside.dump("no/such/file"),
                     lambda: ringside.dump("there")):
            open("there", "w").close()
            try:
                call()
            except ringside.RingsideError as error:
                again = pickle.loads(pickle.dumps(error))
                assert (str(again), again.errno) == (str(error), error.errno)
                errors.append([error.code, error.errno, error.filename, str(error),
                               isinstance(error, OSError), isinstance(error, FileExistsError)])
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            status = ringside.status()
            answer = [ringside.start(), ringside.mark("m"), status.loaded, status.reason]
            os.write(write, json.dumps(answer).encode())
            os._exit(0)
        os.waitpid(child, 0)
        print(json.dumps([errors, json.loads(os.read(read, 4096))]))
        """
    )
    (unknown, missing, existing), child = job.answer
    assert unknown[:3] == [-1, None, None] and unknown[4:] == [True, False]
    assert "start('coll,nothing')" in unknown[3] and "coll, p2p, kernel, proxy" in unknown[3]
    assert missing[:3] == [-3, errno.ENOENT, "no/such/file"] and missing[4:] == [True, False]
    assert "(No such file or directory): 'no/such/file'" in missing[3]
    assert existing[:3] == [-2, errno.EEXIST, "there"] and existing[4:] == [True, True]
    assert "'there'" in existing[3]
    # The parent has opened no communicator, so its child may make a profiler of its own, or none.
    assert child[2] is True and (child[0] is True or "fork" in child[3])


def test_status_has_the_layout_of_the_header(run: Run) -> None:
    job = run(
        """
        import json
        import nccl_ringside as ringside
        from caller import Communicator
        world = Communicator()
        ringside.start()
        world.all_reduce(1)
        world.destroy()
        ringside.dump("dump.json")
        status = ringside.status()
        print(json.dumps([status.trace_path, status.flight_recorder, status.rotated,
                          status.bytes_kept > 0, status.dropped, status.trouble]))
        """
    )
    assert job.answer[0].startswith(str(job.directory / "traces" / "ringside."))
    assert job.answer[1:] == [False, 0, True, 0, False]
    assert len(named(job.trace(), "ringside_window")) >= 1


def test_another_process_can_ask_where_the_main_thread_is(run: Run) -> None:
    job = run(
        r"""
        import json, os, socket
        import nccl_ringside
        served = [nccl_ringside.show_stacks(), nccl_ringside.show_stacks()]
        def ask():
            with socket.socket(socket.AF_UNIX) as asked:
                asked.connect(f"\0ringside-stacks-{os.getpid()}")
                return json.loads(b"".join(iter(lambda: asked.recv(65536), b"")))
        thread, = ask()
        print(json.dumps([served, thread["thread_name"], [one["name"] for one in thread["frames"]][-2:]]))
        """
    )
    assert job.answer == [[True, True], "MainThread", ["ask", "<module>"]]


def test_a_forked_worker_can_be_asked_alike(run: Run) -> None:
    job = run(
        r"""
        import json, os, socket
        import nccl_ringside
        nccl_ringside.show_stacks()
        def work():
            waits.close()
            ready.send(b"1")
            ready.recv(1)  # until the parent has ended
        waits, ready = socket.socketpair()
        worker = os.fork()
        if worker == 0:
            work()
            os._exit(0)
        ready.close()
        waits.recv(1)
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(f"\0ringside-stacks-{worker}")
            thread, = json.loads(b"".join(iter(lambda: asked.recv(65536), b"")))
        print(json.dumps([one["name"] for one in thread["frames"]][-2:]))
        """
    )
    assert job.answer == ["work", "<module>"]
