#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Talks to `ringside mcp` as a client of the Model Context Protocol does, and compares what its tools
answer with what the commands print.

usage: check_mcp.py RINGSIDE_GENERATE RINGSIDE
"""
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

EMULATOR = shlex.split(os.environ.get("RINGSIDE_TEST_EMULATOR", ""))
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
SECRET = "elsewhere-only"  # a host that no served directory has


class Client:
    def __init__(self, ringside, *directories):
        self.server = subprocess.Popen([*EMULATOR, ringside, "mcp", *map(str, directories)], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0

    def line(self, text):
        self.server.stdin.write(text + "\n")
        self.server.stdin.flush()
        return json.loads(self.server.stdout.readline())

    def send(self, method, **params):
        self.number += 1
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method,
                                            "params": params}) + "\n")
        self.server.stdin.flush()
        return self.number

    def hear(self, number):
        answer = json.loads(self.server.stdout.readline())
        assert answer["jsonrpc"] == "2.0" and answer["id"] == number, answer
        return answer

    def ask(self, method, **params):
        return self.hear(self.send(method, **params))

    def call(self, name, **arguments):
        return self.ask("tools/call", name=name, arguments=arguments)

    def end(self):
        self.server.stdin.close()
        assert self.server.stdout.read() == "" and self.server.wait(60) == 0


def check_protocol(client):
    begun = client.ask("initialize", protocolVersion="2024-11-05", capabilities={},
                       clientInfo={"name": "check", "version": "1"})["result"]
    assert begun["protocolVersion"] == "2024-11-05" and "tools" in begun["capabilities"], begun
    for other in ("1999", "2025-03-26"):  # the latter would have several requests in one message
        assert client.ask("initialize", protocolVersion=other)["result"]["protocolVersion"] == "2025-06-18"
    # A notification has no answer: the next line is that of the ping.
    client.server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n\n')
    assert client.ask("ping")["result"] == {}
    for tool in client.ask("tools/list")["result"]["tools"]:
        assert tool["description"] and tool["inputSchema"]["type"] == "object", tool
    for line, code in (("no JSON", -32700), ("[1]", -32600), ('{"id":7}', -32600),
                       ('[{"jsonrpc":"2.0","id":7,"method":"ping"}]', -32600),
                       ('{"id":7.5,"method":"ping"}', -32600), ('{"id":null,"method":"ping"}', -32600),
                       ('{"id":36893488147419103232,"method":"ping"}', -32600),
                       ('{"id":7,"method":"nothing"}', -32601), ('{"id":7,"method":"ping","params":3}', -32602)):
        assert client.line(line)["error"]["code"] == code, line
    for number in (2**53 + 1, -2**63, 2**64 - 1, "7"):
        assert client.line(json.dumps({"id": number, "method": "ping"})) == {
            "jsonrpc": "2.0", "id": number, "result": {}}


def check_answers(client, ringside, traces, other):
    def said(*words):
        out = subprocess.run([*EMULATOR, ringside, *map(str, words), "--format", "json"], capture_output=True,
                             check=False, timeout=60).stdout
        return json.loads(out)
    query = "SELECT function, count(*) AS operations FROM operations GROUP BY 1"
    for name, arguments, words in (
            ("summary", {"path": "traces"}, ("summary", traces)),
            ("summary", {"path": str(traces), "func": "AllReduce"}, ("summary", "--func", "AllReduce", traces)),
            ("hang", {"path": "traces"}, ("hang", traces)),
            ("stragglers", {"path": "traces"}, ("stragglers", traces)),
            ("what_if", {"path": "traces", "without": "rank:3", "balanced": False},
             ("what-if", "--without", "rank:3", traces)),
            ("what_if", {"path": "traces", "balanced": True}, ("what-if", "--balanced", traces)),
            ("network", {"path": "traces"}, ("network", "--top", 100, traces)),
            ("compare", {"before": "traces", "after": "other"}, ("compare", traces, other)),
            ("query", {"path": "traces", "sql": query}, ("query", traces, query)),
            ("views", {}, ("query", "--views"))):
        result = client.call(name, **arguments)["result"]
        assert not result["isError"], (name, result)
        assert result["structuredContent"] == json.loads(result["content"][0]["text"]) == said(*words), name
    assert "Rank 3" in client.call("summary", path="traces")["result"]["structuredContent"]["headline"]


def check_wrong_types(client):
    for name, arguments, wrong in (
            ("what_if", {"path": "traces", "balanced": "yes"}, "balanced"), ("summary", {"path": 7}, "path"),
            ("summary", {"path": "traces", "rank": "three"}, "rank"), ("query", {"path": "traces", "sql": 1}, "sql"),
            ("summary", {"path": "traces", "func": ["AllReduce"]}, "func"),
            ("summary", {"path": "traces\0x"}, "path"), ("query", {"path": "traces", "sql": "SELECT 1\0x"}, "sql")):
        error = client.call(name, **arguments)["error"]
        assert error["code"] == -32602 and wrong in error["message"], error
    assert not client.call("summary", path="traces", rank=3)["result"]["isError"]


def check_says_directories(client, root):
    """Whoever reads the tools, or is refused, learns what may be read."""
    for tool in client.ask("tools/list")["result"]["tools"]:
        for name, schema in tool["inputSchema"]["properties"].items():
            assert (str(root) in schema["description"]) == (name in ("path", "before", "after")), (tool["name"], name)
    for path in ("/", ".."):
        assert str(root) in client.call("summary", path=path)["error"]["message"]


def check_links(client, ringside, root, elsewhere):
    """No link leads out, of whatever kind of file and whichever tool reads it."""
    inside = root / "links"
    for whole, with_trace in ((inside / "only", False), (inside / "beside", True)):
        whole.mkdir(parents=True)
        if with_trace:
            shutil.copy(next((root / "traces").glob("*.json")), whole / "own.json")
        for path in elsewhere.iterdir():
            (whole / path.name).symlink_to(path)
    leaks = 0
    for whole in ("only", "beside"):
        for name, arguments in (
                *((name, {"path": f"links/{whole}"}) for name in
                  ("summary", "hang", "stragglers", "what_if", "network")),
                ("compare", {"before": "traces", "after": f"links/{whole}"}),
                ("query", {"path": f"links/{whole}", "sql": "SELECT * FROM hosts, processes"})):
            assert SECRET not in json.dumps(client.call(name, **arguments)), (name, whole)
            words = [str(root / argument) if argument in ("traces", f"links/{whole}") else argument
                     for argument in arguments.values()]
            free = subprocess.run([*EMULATOR, ringside, name.replace("_", "-"), "--format=json", *words],
                                  capture_output=True, check=False, timeout=60)
            leaks += SECRET.encode() in free.stdout
    assert leaks >= 6, "the links lead to files that the commands can read"
    shutil.rmtree(inside)


def children_of(process):
    return pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()


def wait_until_gone(pid):
    """Until it has ended; who takes over an orphan need not wait for it."""
    def runs():
        try:
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] not in "ZX"
    while runs():
        time.sleep(0.01)


def check_endless(ringside, traces):
    """A query that never ends blocks nobody, and ends when it is not wanted."""
    client = Client(ringside, traces)
    endless = client.send("tools/call", name="query", arguments={"sql": ENDLESS})
    assert client.ask("ping")["result"] == {}
    assert not client.call("summary")["result"]["isError"]
    (query,) = children_of(client.server)
    assert "--seconds=60" in pathlib.Path(f"/proc/{query}/cmdline").read_text(encoding="utf-8").split("\0")
    client.server.stdin.write(json.dumps({"method": "notifications/cancelled", "params": {"requestId": endless}}) + "\n")
    assert client.ask("ping")["result"] == {}
    wait_until_gone(query)
    numbers = [client.send("tools/call", name="query", arguments={"sql": ENDLESS}) for _ in range(9)]
    assert "error" in client.hear(numbers[-1]), "as many as that at once are too many"
    queries = children_of(client.server)
    assert len(queries) == 8
    client.end()
    for query in queries:
        wait_until_gone(query)
    ended = Client(ringside, traces)
    ended.send("tools/call", name="query", arguments={"sql": ENDLESS})
    ended.ask("ping")
    (query,) = children_of(ended.server)
    ended.server.send_signal(signal.SIGTERM)
    assert ended.server.wait(60) == -signal.SIGTERM
    wait_until_gone(query)


def check_refused(client, root):
    for name, arguments in (("summary", {"path": "/"}), ("summary", {"path": ".."}), ("summary", {"path": "away"}),
                            ("summary", {"path": "missing"}), ("summary", {"other": 1}), ("nothing", {}),
                            ("query", {"path": "traces"}), ("compare", {"before": "traces"})):
        assert client.call(name, **arguments)["error"]["code"] == -32602, (name, arguments)
    for sql in ("DROP TABLE calls", "ATTACH 'x' AS y", "SELECT nothing FROM calls", "--views"):
        result = client.call("query", path="traces", sql=sql)["result"]
        text = result["content"][0]["text"]
        assert result["isError"] and "status 2" in text and "ringside query: " in text, result
    for text in ("--help", "-h", "; touch x"):
        assert client.call("summary", path="traces", func=text)["result"]["isError"], text
    wrong = client.call("what_if", path="traces", without="5")["result"]
    assert "neither rank:NUMBER nor host:NAME" in wrong["content"][0]["text"], wrong
    missing = client.call("summary", path="traces", func="Nothing")["result"]
    assert missing["isError"] and "Nothing" in missing["content"][0]["text"], missing
    assert sorted(path.name for path in root.iterdir()) == ["away", "other", "traces"]


def make_secrets(generate, elsewhere):
    """A trace of each form, and what else is read with traces: all name a host that is nowhere else."""
    subprocess.run([*EMULATOR, generate, str(elsewhere), "--hosts", "2", "--ranks-per-host", "2", "--steps",
                    "--iterations", "30"], check=True, timeout=60)
    for path in elsewhere.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        host = json.loads(text)[0]["args"]["host"]
        path.write_text(text.replace(host, SECRET), encoding="utf-8")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    generate, ringside = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as elsewhere:
        root = pathlib.Path(name)
        for directory, late in (("traces", "3:400"), ("other", "1:10")):
            subprocess.run([*EMULATOR, generate, str(root / directory), "--hosts", "2", "--ranks-per-host", "2",
                            "--steps", "--iterations", "30", "--straggler", late], check=True, timeout=60)
        (root / "away").symlink_to(elsewhere)
        make_secrets(generate, pathlib.Path(elsewhere))
        client = Client(ringside, root)
        check_protocol(client)
        check_answers(client, ringside, root / "traces", root / "other")
        check_refused(client, root)
        check_wrong_types(client)
        check_says_directories(client, root)
        check_links(client, ringside, root, pathlib.Path(elsewhere))
        client.end()
        check_endless(ringside, root / "traces")
        only = Client(ringside, root / "traces")  # the directory need not be named
        assert not only.call("stragglers")["result"]["isError"]
        only.end()
        wrong = subprocess.run([*EMULATOR, ringside, "mcp", str(root / "missing")], capture_output=True,
                               check=False, timeout=60, stdin=subprocess.DEVNULL)
        assert wrong.returncode == 3 and b"missing" in wrong.stderr, wrong
    print("the tools answer what the commands print")


if __name__ == "__main__":
    main()
