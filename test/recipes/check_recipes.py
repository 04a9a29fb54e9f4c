#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recipes of examples/, run: Slurm's commands are stood for (slurm.py), and the tasks replay what
NCCL called. The files of Kubernetes are held against each other, and against Kubernetes' schemas where
the Python package kubernetes-validate is installed.

usage: check_recipes.py SOURCE RINGSIDE PLUGIN NCCL_HOST
       check_recipes.py SOURCE                            the files of Kubernetes alone
"""
import ctypes
import importlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time

RECORDING = "test/data/transcripts/2.30.7-v6-mix-n2"


class Failure(Exception):
    """A check that does not hold; the text says which."""


def require(condition, text):
    if not condition:
        raise Failure(text)


class Cluster:
    """A directory with what a node has in its PATH, and the environment of a job."""

    def __init__(self, source, ringside, plugin, host, place):
        self.source, self.plugin, self.place = source, plugin, place
        self.examples = source / "examples"
        self.tools = place / "bin"
        self.tools.mkdir()
        for name in ("srun", "scancel", "scontrol", "runuser"):
            shutil.copy(pathlib.Path(__file__).with_name("slurm.py"), self.tools / name)
            (self.tools / name).chmod(0o755)
        # Beside the program, where `ringside` looks first.
        os.link(ringside, self.tools / "ringside") if same_device(ringside, place) else \
            shutil.copy(ringside, self.tools / "ringside")
        shutil.copy(plugin, self.tools)
        rings = place / "rings"
        rings.mkdir()
        self.variables = {
            "PATH": f"{self.tools}:{os.environ['PATH']}", "SLURM_LOG": str(place / "log"),
            "SLURM_JOB_NUM_NODES": "1", "SLURM_JOB_NODELIST": "localhost", "SLURM_JOB_USER": "me",
            "TRACES": str(place / "traces"), "RINGSIDE_RING_DIR": str(rings),
            "RINGSIDE_RING_BYTES": "8M", "HOME": str(place)}
        # NCCL in a rank: the recording of its task.
        self.program = place / "rank"
        self.program.write_text(
            "#!/bin/bash\n"
            f"exec '{host}' --plugin \"$NCCL_PROFILER_PLUGIN\" \"$@\" "
            f"'{source / RECORDING}/rank'\"${{SLURM_PROCID:-0}}.jsonl.gz\"\n", encoding="utf-8")
        self.program.chmod(0o755)

    def environment(self, **variables):
        kept = {key: value for key, value in os.environ.items()
                if not key.startswith(("NCCL_", "RINGSIDE_", "SLURM_", "TORCHELASTIC"))}
        return {**kept, **self.variables, **variables}

    def run(self, *command, status=0, **variables):
        done = subprocess.run([str(part) for part in command], text=True, check=False,
                              cwd=self.place, env=self.environment(**variables),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        require(done.returncode == status,
                f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-4000:]}")
        return done.stdout

    def traces(self, directory):
        return sorted((self.place / "traces" / directory).glob("*.json"))

    def log(self):
        return (self.place / "log").read_text(encoding="utf-8")


def same_device(first, second):
    return os.stat(first).st_dev == os.stat(second).st_dev


def check_batch(cluster):
    """Two tasks, their summary, and the status of the step; the rings of one that dies come back."""
    script = cluster.examples / "slurm/job.sbatch"
    said = cluster.run(script, cluster.program, SLURM_JOB_ID="11")
    require(len(cluster.traces("11")) == 2 and "2 ranks" in said and "Job 11;" in said, said)
    said = cluster.run(script, cluster.program, "--kill-after", "1500", SLURM_JOB_ID="12")
    require(len(cluster.traces("12")) == 2 and "Recovered after their process" in said, said)
    require(not list((cluster.place / "rings").iterdir()), "there are rings left")


def check_array(cluster):
    launcher = cluster.tools / "torchrun"
    launcher.write_text(f"#!/bin/bash\necho \"torchrun $*\"\nexec '{cluster.program}'\n",
                        encoding="utf-8")
    launcher.chmod(0o755)
    said = cluster.run(cluster.examples / "slurm/array.sbatch", SLURM_JOB_ID="22",
                       SLURM_ARRAY_JOB_ID="21", SLURM_ARRAY_TASK_ID="1")
    require("--rdzv-endpoint localhost:29500 train.py --bucket-mb 50" in said, said)
    require(len(cluster.traces("21/1")) == 2, f"{cluster.traces('21/1')}")


def check_requeue(cluster):
    """The first attempt gets the signal that Slurm gives before the time is over."""
    script = cluster.examples / "slurm/requeue.sbatch"
    held = cluster.place / "held"
    held.write_text("#!/bin/bash\ntrap 'kill \"$pid\"; exit 0' TERM\n"
                    f"'{cluster.program}'\nsleep 600 & pid=$!\n"
                    f"touch '{cluster.place}/ready'$SLURM_PROCID\nwait\n", encoding="utf-8")
    held.chmod(0o755)
    first = subprocess.Popen([str(script), str(held)], cwd=cluster.place, text=True,
                             env=cluster.environment(SLURM_JOB_ID="31"), stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 120
        while not all((cluster.place / f"ready{rank}").exists() for rank in range(2)):
            require(time.monotonic() < deadline, "the tasks do not come to their end")
            time.sleep(0.05)
        first.send_signal(signal.SIGUSR1)
        said = first.communicate(timeout=120)[0]
    finally:
        first.kill()
    require(first.returncode == 0 and "scontrol requeue 31" in cluster.log(), said)
    said = cluster.run(script, cluster.program, SLURM_JOB_ID="31", SLURM_RESTART_COUNT="1")
    require([len(cluster.traces(f"31/{attempt}")) for attempt in range(2)] == [2, 2], said)
    require("Job 31-1;" in said and cluster.log().count("scontrol requeue") == 1, said)
    # The replays of two ranks are not in step, so the times of all of their operations may contradict each other.
    require("Kinds of operations" in said or "A and B have no kind of operations in common that has times" in said,
            f"the attempts are not compared: {said}")


def check_prolog(cluster):
    """Slurm sets what the TaskProlog prints as `export NAME=value`, without quotes."""
    script = cluster.examples / "slurm/task_prolog.sh"
    where = cluster.place / "a dir"
    where.mkdir()
    said = cluster.run(script, SLURM_JOB_ID="41", SLURM_SUBMIT_DIR=str(where))
    lines = said.splitlines()
    require(lines and all(re.match(r"export \w+=.", line) for line in lines), said)
    given = dict(line.removeprefix("export ").split("=", 1) for line in lines)
    require(given["RINGSIDE_DIR"] == f"{where}/traces/41", said)
    require(given["NCCL_PROFILER_PLUGIN"] == str(cluster.tools / cluster.plugin.name), said)
    cluster.run(cluster.program, **given)
    require(len(list((where / "traces/41").glob("*.json"))) == 1, "the task has left no trace")
    require(not cluster.run(script, SLURM_JOB_ID="41", RINGSIDE="off"), "RINGSIDE=off")
    require(not cluster.run(script, NCCL_PROFILER_PLUGIN="another"), "another plugin")
    return given


def check_epilog(cluster, given):
    """Completes the trace of a task that was killed, and removes its rings."""
    given = {**given, "RINGSIDE_JOB": "42", "RINGSIDE_DIR": str(cluster.place / "traces/42")}
    cluster.run(cluster.program, "--kill-after", "1500", **given)
    require(list((cluster.place / "rings").iterdir()), "the task has left no rings")
    cluster.run(cluster.examples / "slurm/epilog.sh", SLURM_JOB_ID="42")
    require(not list((cluster.place / "rings").iterdir()), "the rings are still there")
    cluster.run("ringside", "lint", cluster.place / "traces/42")


def check_spank(cluster):
    """It compiles, and a job of Slurm could load it; test/slurm starts one with it."""
    if not os.path.exists("/usr/include/slurm/spank.h"):
        return "the SPANK plugin is not compiled: there is no libslurm-dev"
    library = cluster.place / "spank_ringside.so"
    cluster.run("cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", library,
                cluster.examples / "slurm/spank_ringside.c")
    loaded = ctypes.CDLL(str(library), mode=os.RTLD_LAZY)
    require(ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(loaded, "plugin_type"))) == b"spank" and
            loaded.slurm_spank_init and loaded.slurm_spank_task_init, "the names that Slurm looks for")
    return "Slurm's headers have nothing to say to the SPANK plugin"


def check_enroot(cluster, given):
    """The hook adds variables and mounts, each once, and nothing where there is no plugin."""
    environment, mounts = cluster.place / "environ", cluster.place / "mounts"
    environment.write_text("RINGSIDE_JOB=mine\n", encoding="utf-8")
    mounts.touch()
    files = {"ENROOT_ENVIRON": str(environment), "ENROOT_MOUNTS": str(mounts)}
    hook = cluster.examples / "enroot/50-ringside.sh"
    cluster.run(hook, **files)
    require(not mounts.read_text(encoding="utf-8"), "mounts without a plugin")
    cluster.run(hook, **files, **given)
    inside = dict(line.split("=", 1) for line in environment.read_text(encoding="utf-8").splitlines())
    require(inside["RINGSIDE_JOB"] == "mine" and inside["RINGSIDE_DIR"] == given["RINGSIDE_DIR"] and
            inside["NCCL_PROFILER_PLUGIN"] == given["NCCL_PROFILER_PLUGIN"], f"{inside}")
    lines = mounts.read_text(encoding="utf-8").splitlines()
    require(lines[0].startswith(f"{given['NCCL_PROFILER_PLUGIN']} x-create=file,bind,ro,") and
            lines[1].startswith(f"{given['RINGSIDE_DIR']} x-create=dir,bind,rw,"), f"{lines}")
    (cluster.place / "lib").mkdir()
    shutil.copy(cluster.plugin, cluster.place / "lib")
    given = {**given, "NCCL_PROFILER_PLUGIN": str(cluster.place / "lib" / cluster.plugin.name)}
    cluster.run(hook, **files, **given)
    require(f"\n{cluster.place} x-create=dir,bind,ro," in mounts.read_text(encoding="utf-8"),
            "the archive")


def check_kubernetes(examples):
    """Holds against each other what one file promises another: directories, labels, ports; and the schemas."""
    try:
        yaml = importlib.import_module("yaml")
    except ImportError:
        return "the files of Kubernetes are not read: there is no python3-yaml"
    files = {path.name: list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
             for path in [*examples.glob("kubernetes/*.yaml"), *examples.glob("exporter/*.y*ml")]}
    (daemon,), (service, job), (monitor,) = (
        files[name] for name in ("daemonset.yaml", "job.yaml", "podmonitor.yaml"))
    pods = daemon["spec"]["template"]
    require(daemon["spec"]["selector"]["matchLabels"] == pods["metadata"]["labels"] ==
            monitor["spec"]["selector"]["matchLabels"], "labels of the exporter's pods")
    ports = {port["name"] for one in pods["spec"]["containers"] for port in one.get("ports", [])}
    require({one["port"] for one in monitor["spec"]["podMetricsEndpoints"]} <= ports, f"{ports}")
    spec = job["spec"]["template"]["spec"]
    require(spec["subdomain"] == service["metadata"]["name"] and
            service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}, "the service")
    volumes = {name: {one["name"]: one for one in each["volumes"]}
               for name, each in (("job", spec), ("daemon", pods["spec"]))}
    require(volumes["job"]["ringside"]["hostPath"] == volumes["daemon"]["rings"]["hostPath"],
            "the rings of jobs are not where the exporter looks")
    require(volumes["job"]["traces"] == volumes["daemon"]["traces"], "the volume of traces")
    require(volumes["job"]["shm"]["emptyDir"]["medium"] == "Memory", "shared memory")
    for part, each in (("job", spec), ("daemon", pods["spec"])):
        for one in [*each["containers"], *each.get("initContainers", [])]:
            names = {mount["name"] for mount in one["volumeMounts"]}
            require(names <= set(volumes[part]), f"{part}: {names}, not {set(volumes[part])}")
    (container,) = spec["containers"]
    variables = {one["name"]: one.get("value") for one in container["env"]}
    mounted = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
    require(mounted[variables["RINGSIDE_RING_DIR"]] == "ringside", "RINGSIDE_RING_DIR")
    for one in pods["spec"]["containers"]:
        (mount,) = [each for each in one["volumeMounts"] if each["name"] == "rings"]
        require(mount["mountPath"] in " ".join(one["command"]), f"{one['name']}: {mount}")
    try:
        validate = importlib.import_module("kubernetes_validate")
    except ImportError:
        return "the schemas of Kubernetes are not there (kubernetes-validate of PyPI)"
    for text in (daemon, service, job):
        validate.validate(text, "1.30", strict=True)
    return "Kubernetes 1.30 has nothing to say to the three objects of its own"


def check_github(cluster):
    """Two nights: the second is compared with the first. What the replayed job is found to be, is open."""
    text = (cluster.examples / "github/nightly.yml").read_text(encoding="utf-8")
    commands = [textwrap.dedent(block) for block in re.findall(r"run: \|\n((?: {10}.*\n)+)", text)]
    require(len(commands) == text.count("run:"), f"{len(commands)} commands are found")
    launcher = cluster.tools / "torchrun"
    launcher.write_text(f"#!/bin/bash\nSLURM_PROCID=0 '{cluster.program}' & "
                        f"SLURM_PROCID=1 '{cluster.program}'; wait\n", encoding="utf-8")
    launcher.chmod(0o755)
    for night in (1, 2):
        for command in commands:
            done = subprocess.run(["bash", "-e", "-c", command], cwd=cluster.place, text=True,
                                  env=cluster.environment(), capture_output=True, check=False)
            # 4: it is too short to be judged.
            require(done.returncode in (0, 4) or done.returncode == 1 and
                    ("failed: " in done.stderr or "got slower" in done.stdout),
                    f"night {night}, {command}{done.returncode}: {done.stdout}{done.stderr}")
            if "compare" in command:
                compared = "A: all ranks are on one host" in done.stdout + done.stderr
                require(compared == (night == 2), f"night {night}: {done.stdout}{done.stderr}")
        require(len(list((cluster.place / "today").glob("*.json"))) == 2 and
                (cluster.place / "report.html").is_file(), f"night {night}: no traces, or no page")


def check_unit(cluster):
    """systemd reads its unit. It looks for the program, so that of /bin/true stands for it."""
    text = (cluster.examples / "exporter/ringside-exporter.service").read_text(encoding="utf-8")
    require("\nExecStart=ringside exporter --listen 127.0.0.1:9401 " in text and "0.0.0.0" not in text,
            "the unit serves other hosts unasked")
    if not shutil.which("systemd-analyze"):
        return "the unit is not read: there is no systemd-analyze"
    unit = cluster.place / "ringside-exporter.service"
    unit.write_text(text.replace("ExecStart=ringside", "ExecStart=true"), encoding="utf-8")
    said = cluster.run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit)
    require(str(unit.name) not in said, said)
    return "systemd has nothing to say to the unit"


def main():
    source, *programs = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    if not programs:
        print(check_kubernetes(source / "examples"))
        return 0
    ringside, plugin, host = programs
    with tempfile.TemporaryDirectory(prefix="recipes-") as name:
        cluster = Cluster(source, ringside, plugin, host, pathlib.Path(name).resolve())
        try:
            check_batch(cluster)
            check_array(cluster)
            check_requeue(cluster)
            given = check_prolog(cluster)
            check_epilog(cluster, given)
            check_enroot(cluster, given)
            check_github(cluster)
            print(check_kubernetes(cluster.examples))
            print(check_unit(cluster))
            print(check_spank(cluster))
        except Failure as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
