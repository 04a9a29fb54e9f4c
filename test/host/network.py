# SPDX-License-Identifier: Apache-2.0
"""Hosts that are network namespaces, joined by a bridge in a namespace of its own."""

import subprocess


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Network:
    """Made by make(), gone after remove(). The bridge has the address `subnet`.100, and the hosts have
    `subnet`.1 and on."""

    def __init__(self, prefix, switch, hosts, subnet):
        self.prefix = prefix
        self.switch = switch
        self.hosts = hosts
        self.subnet = subnet
        self.made = []

    def make(self):
        """Raises CalledProcessError where namespaces may not be made; remove() is right then, too."""
        switch = self._add(self.switch)
        ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        self._set_up(switch, "bridge", f"{self.subnet}.100")
        for host in self.hosts:
            node = self._add(host)
            ip("-n", switch, "link", "add", host, "type", "veth", "peer", "name", "net", "netns", node)
            ip("-n", switch, "link", "set", host, "master", "bridge", "up")
            self._set_up(node, "net", self.address(host))

    def address(self, host):
        return f"{self.subnet}.{self.hosts.index(host) + 1}"

    def namespace(self, host):
        return self.prefix + host

    def set_link(self, host, state):
        ip("-n", self.namespace(self.switch), "link", "set", host, state)

    def remove(self):
        for name in self.made:
            ip("netns", "del", name)

    def _add(self, host):
        ip("netns", "add", self.namespace(host))
        self.made.append(self.namespace(host))
        return self.namespace(host)

    @staticmethod
    def _set_up(namespace, device, address):
        ip("-n", namespace, "addr", "add", f"{address}/24", "dev", device)
        for one in (device, "lo"):
            ip("-n", namespace, "link", "set", one, "up")
