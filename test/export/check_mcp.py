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
import subprocess
import sys
import tempfile

EMULATOR = shlex.split(os.environ.get("RINGSIDE_TEST_EMULATOR", ""))


class Client:
    def __init__(self, ringside, *directories):
        self.server = subprocess.Popen([*EMULATOR, ringside, "mcp", *map(str, directories)], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0

    def line(self, text):
        self.server.stdin.write(text + "\n")
        self.server.stdin.flush()
        return json.loads(self.server.stdout.readline())

    def ask(self, method, **params):
        self.number += 1
        answer = self.line(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}))
        assert answer["jsonrpc"] == "2.0" and answer["id"] == self.number, answer
        return answer

    def call(self, name, **arguments):
        return self.ask("tools/call", name=name, arguments=arguments)

    def end(self):
        self.server.stdin.close()
        assert self.server.stdout.read() == "" and self.server.wait(60) == 0


def check_protocol(client):
    begun = client.ask("initialize", protocolVersion="2025-03-26", capabilities={},
                       clientInfo={"name": "check", "version": "1"})["result"]
    assert begun["protocolVersion"] == "2025-03-26" and "tools" in begun["capabilities"], begun
    assert client.ask("initialize", protocolVersion="1999")["result"]["protocolVersion"] == "2025-06-18"
    # A notification has no answer: the next line is that of the ping.
    client.server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n\n')
    assert client.ask("ping")["result"] == {}
    for tool in client.ask("tools/list")["result"]["tools"]:
        assert tool["description"] and tool["inputSchema"]["type"] == "object", tool
    for line, code in (("no JSON", -32700), ("[1]", -32600), ('{"id":7}', -32600),
                       ('{"id":7,"method":"nothing"}', -32601), ('{"id":7,"method":"ping","params":3}', -32602)):
        assert client.line(line)["error"]["code"] == code, line


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


def check_refused(client, root):
    for name, arguments in (("summary", {"path": "/"}), ("summary", {"path": ".."}), ("summary", {"path": "away"}),
                            ("summary", {"path": "missing"}), ("summary", {"other": 1}), ("nothing", {}),
                            ("query", {"path": "traces"}), ("compare", {"before": "traces"})):
        assert client.call(name, **arguments)["error"]["code"] == -32602, (name, arguments)
    for sql in ("DROP TABLE calls", "ATTACH 'x' AS y", "SELECT nothing FROM calls", "--views"):
        result = client.call("query", path="traces", sql=sql)["result"]
        assert result["isError"] and "status 2" in result["content"][0]["text"], result
    for text in ("--help", "-h", "; touch x"):
        assert client.call("summary", path="traces", func=text)["result"]["isError"], text
    assert sorted(path.name for path in root.iterdir()) == ["away", "other", "traces"]


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
        client = Client(ringside, root)
        check_protocol(client)
        check_answers(client, ringside, root / "traces", root / "other")
        check_refused(client, root)
        client.end()
        only = Client(ringside, root / "traces")  # the directory need not be named
        assert not only.call("stragglers")["result"]["isError"]
        only.end()
        wrong = subprocess.run([*EMULATOR, ringside, "mcp", str(root / "missing")], capture_output=True,
                               check=False, timeout=60, stdin=subprocess.DEVNULL)
        assert wrong.returncode == 3 and b"missing" in wrong.stderr, wrong
    print("the tools answer what the commands print")


if __name__ == "__main__":
    main()
