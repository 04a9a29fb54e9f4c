# SPDX-License-Identifier: Apache-2.0
"""A genuine Slurm of four nodes on this machine: a controller and four slurmd, each in namespaces of its
own. A node has its own name, address, /dev/shm and local disk; all share the file system else."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "host"))
from network import Network  # noqa: E402  pylint: disable=wrong-import-position

NODES = [f"node{i}" for i in range(4)]
LOGIN = "login"
PROGRAMS = ("slurmctld", "slurmd", "munged", "srun", "unshare", "nsenter", "ip", "mount")

CONFIGURATION = """\
ClusterName=ringside
SlurmctldHost=login({login})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool-%n
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd-%n.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd-%n.log
TmpFS={place}/tmp-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
GresTypes=gpu
TaskProlog={place}/task_prolog.sh
Epilog={place}/epilog.sh
PartitionName=all Nodes=node[0-3] Default=YES MaxTime=INFINITE State=UP
"""


class CannotRun(Exception):
    """There can be no Slurm here; the text says why."""


def _checked(*words, **options):
    subprocess.run(words, check=True, capture_output=True, text=True, **options)


class Cluster:
    """Made by start(), gone after stop(). `place` is a directory that all nodes see; `local` is one of
    which each node has its own. The nodes have `programs` as /opt/ringside/bin, and of the `recipes`
    TaskProlog and Epilog, and the SPANK plugin where Slurm's headers are, with NCCL's `plugin`."""

    def __init__(self, place, programs, plugin, recipes):
        self.place = pathlib.Path(place)
        self.local = self.place / "local"
        self.programs = programs
        self.plugin = plugin
        self.recipes = recipes
        self.network = Network(f"ringside-slurm-{os.getpid()}-", LOGIN, NODES, "10.78.0")
        self.environment = os.environ | {"SLURM_CONF": str(self.place / "slurm.conf")}

    def start(self):
        missing = [name for name in PROGRAMS if not shutil.which(name)]
        if missing or os.geteuid() != 0:
            raise CannotRun(f"there is no {missing[0]}" if missing else "this is not root")
        try:
            self.network.make()
            self._write_files()
            self._start_programs()
        except subprocess.CalledProcessError as error:
            raise CannotRun(f"{' '.join(error.cmd)[:200]}: {error.stderr.strip()}") from error
        until = time.monotonic() + 120
        while self.run("sinfo", "-h", "-t", "idle", "-o", "%D") != f"{len(NODES)}\n":
            if time.monotonic() > until:
                raise RuntimeError(f"the nodes do not come up: {self.run('sinfo')}")
            time.sleep(0.2)

    def _start_programs(self):
        _checked("munged", "--force", f"--key-file={self.place}/munge.key",
                 f"--socket={self.place}/munge.socket", f"--pid-file={self.place}/munged.pid",
                 f"--log-file={self.place}/munged.log", f"--seed-file={self.place}/munged.seed")
        self._start_in(LOGIN, "slurmctld")
        for node in NODES:
            self._start_in(node, f"for own in /dev/shm /opt {self.local}; do mount -t tmpfs none $own; done; "
                                 f"mkdir /opt/ringside; ln -s {self.programs} /opt/ringside/bin; "
                                 f"slurmd -N {node}")

    def run(self, *words, status=0, timeout=180):
        """Runs a command on the login node; returns what it writes to standard output."""
        done = self.begin(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, said = done.communicate(timeout=timeout)
        if done.returncode != status:
            raise RuntimeError(f"{' '.join(map(str, words))}: exit status {done.returncode}\n{out}{said}")
        return out

    def begin(self, *words, **streams):
        script = f"hostname {LOGIN}; mount --bind {self.place}/hosts /etc/hosts; exec \"$@\""
        return subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{self.network.namespace(LOGIN)}", "unshare", "--uts", "--mount",
             "bash", "-c", script, "-", *map(str, words)], text=True, env=self.environment, cwd=self.place, **streams)

    def stop(self):
        """Kills all that run in the nodes, and takes the namespaces away."""
        for name in self.network.made:
            listed = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True,
                                    check=False).stdout
            for pid in map(int, listed.split()):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.network.remove()
        try:
            os.kill(int((self.place / "munged.pid").read_text(encoding="ascii")), signal.SIGTERM)
        except (OSError, ValueError):
            pass

    def _write_files(self):
        for name in ("state", "local", *(f"{kind}-{node}" for kind in ("spool", "tmp") for node in NODES)):
            (self.place / name).mkdir(parents=True)
        for script in ("task_prolog.sh", "epilog.sh"):
            shutil.copy(self.recipes / script, self.place)
        if pathlib.Path("/usr/include/slurm/spank.h").exists():
            _checked("cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror",
                     "-o", f"{self.place}/spank_ringside.so", f"{self.recipes}/spank_ringside.c")
            (self.place / "plugstack.conf").write_text(
                f"required {self.place}/spank_ringside.so plugin={self.plugin}\n", encoding="ascii")
        key = self.place / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        addresses = {LOGIN: f"{self.network.subnet}.100", **{n: self.network.address(n) for n in NODES}}
        (self.place / "hosts").write_text(
            "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in addresses.items()),
            encoding="ascii")
        nodes = "".join(f"NodeName={node} NodeAddr={addresses[node]} CPUs=8 RealMemory=1000 Gres=gpu:8\n"
                        for node in NODES)
        (self.place / "slurm.conf").write_text(CONFIGURATION.format(place=self.place, login=addresses[LOGIN]) + nodes,
                                               encoding="ascii")
        for number in range(8):
            (self.place / f"gpu{number}").touch()
        (self.place / "gres.conf").write_text(f"AutoDetect=off\nName=gpu File={self.place}/gpu[0-7]\n",
                                              encoding="ascii")
        (self.place / "cgroup.conf").write_text("CgroupAutomount=no\n", encoding="ascii")

    # `ip netns exec` would mount a /sys without control groups, which slurmd wants to see.
    def _start_in(self, node, command):
        script = f"hostname {node}; mount --bind {self.place}/hosts /etc/hosts; {command}"
        _checked("nsenter", f"--net=/run/netns/{self.network.namespace(node)}", "unshare", "--uts", "--mount",
                 "--ipc", "bash", "-ec", script, env=self.environment)
