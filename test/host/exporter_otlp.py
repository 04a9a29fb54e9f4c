# SPDX-License-Identifier: Apache-2.0
"""A collector of OpenTelemetry, as far as metrics over HTTP go: what `ringside exporter --otlp` sends is
what it serves. With the Python package opentelemetry-proto, the messages are also read by the published
schema."""
import gzip
import http.server
import json
import os
import pathlib
import subprocess
import tempfile
import threading

from exporter import Exporter, get, require, samples, wait_for


class Collector(http.server.ThreadingHTTPServer):
    """Keeps requests, after it has refused the first."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):  # pylint: disable=invalid-name
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        self.server.requests.append((self.path, dict(self.headers), json.loads(body)))
        self.send_response(503 if len(self.server.requests) == 1 else 200)
        self.end_headers()

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


def attributes(one):
    found = {pair["key"]: pair["value"]["stringValue"] for pair in one["attributes"]}
    require(len(found) == len(one["attributes"]), f"a key stands twice: {one['attributes']}")
    return found


def check_schema(message):
    try:
        from google.protobuf import json_format  # pylint: disable=import-outside-toplevel
        from opentelemetry.proto.collector.metrics.v1 import (  # pylint: disable=import-outside-toplevel
            metrics_service_pb2)
    except ImportError:
        print("without opentelemetry-proto: not read by the schema")
        return
    json_format.ParseDict(message, metrics_service_pb2.ExportMetricsServiceRequest())


def check_refused(options):
    """An endpoint of gRPC takes no HTTP, and there are two ways to pack."""
    for given, text in (({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL is grpc"),
                        ({"OTEL_EXPORTER_OTLP_COMPRESSION": "zstd"}, "zstd, which is neither gzip nor none")):
        done = subprocess.run(
            [options.ringside, "exporter", "--otlp", "env"], text=True, capture_output=True, check=False, timeout=60,
            env={**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4317", **given})
        require(done.returncode == 2 and text in done.stderr, f"{done}")


CURL = """#!/bin/sh
cat > /dev/null
echo >> {log}
echo "curl: (7) Failed to connect to otel port 4318 after $(wc -l < {log}) ms: Couldn't connect to server" >&2
exit 7
"""


def exporter_with(options, jobs, given):
    """Which has these variables."""
    before = dict(os.environ)
    os.environ.update(given)
    try:
        return Exporter(options.ringside, jobs.rings, "--otlp", "http://otel:4318")
    finally:
        os.environ.clear()
        os.environ.update(before)


def check_troubles(options, jobs):
    """A collector that is not there is said once, however long each try takes; OTEL_SDK_DISABLED sends nothing."""
    with tempfile.TemporaryDirectory() as place:
        log = pathlib.Path(place) / "log"
        (log.parent / "curl").write_text(CURL.format(log=log), encoding="utf-8")
        (log.parent / "curl").chmod(0o755)
        given = {"PATH": f"{place}:{os.environ['PATH']}", "OTEL_METRIC_EXPORT_INTERVAL": "20"}
        exporter = exporter_with(options, jobs, {**given, "OTEL_SDK_DISABLED": "True"})
        line = exporter.process.stderr.readline()
        require("OTEL_SDK_DISABLED is true" in line, line)
        exporter.end()
        require(not log.exists(), "it has sent something")
        exporter = exporter_with(options, jobs, given)
        wait_for("five tries", 60, lambda: log.exists() and len(log.read_text("utf-8").splitlines()) >= 5)
        exporter.end()
        said = exporter.process.stderr.read()
        require(said == "ringside exporter: --otlp: curl ended with status 7: curl: (7) Failed to connect to otel port "
                "4318: Couldn't connect to server\n", said)


def check_otlp(options, jobs):
    check_refused(options)
    check_troubles(options, jobs)
    collector = Collector()
    given = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}/",
             "OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20secret, tenant = 7 ",
             "OTEL_METRIC_EXPORT_INTERVAL": "200", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_SERVICE_NAME": "training",
             "OTEL_RESOURCE_ATTRIBUTES": 'service.name=other, team=a"b,team=c"d'}
    os.environ.update(given)
    exporter = Exporter(options.ringside, jobs.rings, "--otlp", "env")
    for name in given:
        del os.environ[name]
    try:
        path, headers, message = wait_for("a second request", 60, lambda: collector.requests[1:])[0]
        text = get(exporter.address)
    finally:
        require(exporter.end() == 0, "its end")
        collector.shutdown()
    require("--otlp: curl " in exporter.process.stderr.read(), "the refused request is not said")
    require(headers["Content-Encoding"] == "gzip", f"{headers}")
    require((path, headers["api-key"], headers["tenant"], headers["Content-Type"]) ==
            ("/v1/metrics", "a secret", "7", "application/json"), f"{path}, {headers}")
    check_schema(message)
    (resource,) = message["resourceMetrics"]
    require(attributes(resource["resource"]).items() >=
            {"service.name": "training", "team": 'c"d', "host.name": os.uname().nodename}.items(),
            f"{resource['resource']}")
    (scope,) = resource["scopeMetrics"]
    metrics = {one["name"]: one for one in scope["metrics"]}
    require(len(metrics) == len(scope["metrics"]), "a metric stands twice")
    require({f"{name}_total" if "sum" in one else name for name, one in metrics.items()} ==
            {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")}, "names")
    operations = metrics["ringside_operations"]["sum"]
    require(operations["isMonotonic"] and operations["aggregationTemporality"] == 2, f"{operations}")
    sent = {",".join(f'{key}="{value}"' for key, value in attributes(point).items()):
            float(point["asInt"]) for point in operations["dataPoints"]}
    require(sent and sent == samples(text, "ringside_operations_total"), f"{sent}")
    durations = metrics["ringside_duration_seconds"]
    sums = samples(text, "ringside_duration_seconds_sum")
    require(durations["unit"] == "s" and len(durations["histogram"]["dataPoints"]) == len(sums),
            f"{durations}")
    for point in durations["histogram"]["dataPoints"]:
        require(int(point["count"]) == sum(map(int, point["bucketCounts"])) and
                len(point["bucketCounts"]) == len(point["explicitBounds"]) + 1, f"{point}")
    require(sum(point["sum"] for point in durations["histogram"]["dataPoints"]) == sum(sums.values()),
            "sums of durations")
