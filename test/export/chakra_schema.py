# SPDX-License-Identifier: Apache-2.0
"""Chakra's schema 1.0 as a table of its fields, written from what MLCommons publishes, and a decoder that
protoc makes of it. Nothing of the analyzer is in it."""

import pathlib
import shutil
import subprocess
import sys

PACKAGES = ["grpcio-tools"]

SCALARS = ["double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64",
           "sfixed32", "sfixed64", "bool", "string", "bytes"]

ENUMS = {
    "NodeType": ["INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE", "COMM_SEND_NODE",
                 "COMM_RECV_NODE", "COMM_COLL_NODE"],
    "CollectiveCommType": ["ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL",
                           "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"]}

# Message: type, name and number of each field. An attribute's value is one of fields 3 to 32.
MESSAGES = {
    "IOInfo": [("string", "values", 1), ("string", "shapes", 2), ("string", "types", 3)],
    "GlobalMetadata": [("string", "version", 1), ("repeated AttributeProto", "attr", 2)],
    "Node": [("uint64", "id", 1), ("string", "name", 2), ("NodeType", "type", 3), ("repeated uint64", "ctrl_deps", 4),
             ("repeated uint64", "data_deps", 5), ("uint64", "start_time_micros", 6), ("uint64", "duration_micros", 7),
             ("IOInfo", "inputs", 8), ("IOInfo", "outputs", 9), ("repeated AttributeProto", "attr", 10)]}


def schema():
    lines = ['syntax = "proto3";', "package ChakraProtoMsg;"]
    for name, values in ENUMS.items():
        lines += [f"enum {name} {{", *(f"  {value} = {i};" for i, value in enumerate(values)), "}"]
    for scalar in SCALARS:
        lines.append(f"message {scalar.capitalize()}List {{ repeated {scalar} values = 1; }}")
    lines += ["message AttributeProto {", "  string name = 1;", "  string doc_string = 2;", "  oneof value {"]
    for i, scalar in enumerate(SCALARS):
        lines += [f"    {scalar} {scalar}_val = {3 + 2 * i};", f"    {scalar.capitalize()}List {scalar}_list = {4 + 2 * i};"]
    lines += ["  }", "}"]
    for name, fields in MESSAGES.items():
        lines += [f"message {name} {{", *(f"  {kind} {field} = {number};" for kind, field, number in fields), "}"]
    return "\n".join(lines) + "\n"


def make_decoder(place):
    """The directory of packages and of the module chakra_pb2 in `place`; None if pip cannot fetch the packages."""
    packages = pathlib.Path(place) / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    if not (packages / "grpc_tools").is_dir():
        pip = [sys.executable, "-m", "pip"]
        if subprocess.run([*pip, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
            tools = pathlib.Path(place) / "tools"  # a Python without pip makes environments with it
            subprocess.run([sys.executable, "-m", "venv", tools], check=False)
            pip = [tools / "bin" / "pip"]
        try:
            done = subprocess.run([*pip, "-q", "install", "--only-binary=:all:", "--target", packages, *PACKAGES],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, timeout=240,
                                  check=False)
            trouble = done.stdout[-300:] if done.returncode else ""
        except (OSError, subprocess.TimeoutExpired) as error:
            trouble = str(error)
        if trouble:
            shutil.rmtree(packages, ignore_errors=True)
            print("skipped: pip cannot install", *PACKAGES, trouble)
            return None
    sys.path.insert(0, str(packages))
    (packages / "chakra.proto").write_text(schema(), encoding="utf-8")
    from grpc_tools import protoc
    assert protoc.main(["protoc", f"-I{packages}", f"--python_out={packages}", str(packages / "chakra.proto")]) == 0
    return packages


def read_messages(data):
    """The bytes of each message behind its length."""
    at = 0
    while at < len(data):
        length = shift = 0
        while True:
            byte = data[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        assert at + length <= len(data), "cut off"
        yield data[at:at + length]
        at += length


def read_trace(data):
    """GlobalMetadata, and the Nodes by id."""
    import chakra_pb2
    messages = read_messages(data)
    metadata = chakra_pb2.GlobalMetadata()
    metadata.ParseFromString(next(messages))
    nodes = {}
    for message in messages:
        node = chakra_pb2.Node()
        node.ParseFromString(message)
        assert node.id not in nodes, node.id
        # What is read is all that was written: no field is unknown, and none in another order or form.
        assert node.SerializeToString(deterministic=True) == message, node
        nodes[node.id] = node
    return metadata, nodes


def attributes(message):
    """Values by name, and the name of the field that each is in."""
    values, fields = {}, {}
    for attribute in message.attr:
        assert attribute.name not in values, attribute.name
        field = attribute.WhichOneof("value")
        value = getattr(attribute, field)
        values[attribute.name] = list(value.values) if field.endswith("_list") else value
        fields[attribute.name] = field
    return values, fields
