"""The proxies, each with its file of docker/deploy/, whose addresses are replaced by free ones."""

import contextlib
import http.client
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIMIT = 60  # Seconds until a step that does not come is a failure.


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, what, limit=LIMIT):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if condition():
                return
        time.sleep(0.05)
    sys.exit(f"proxies: {what}: not within {limit} s")


class Proxy:
    """A proxy's process. `stop` fails if it has ended before."""

    def stop(self):
        status = self.process.poll()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LIMIT)
        if status is not None:
            sys.exit(f"proxies: {self.name} ended with status {status}")

    def replace_workers(self, reload_signal):
        """Returns when there is a worker with the settings that were read again."""
        before = self.workers()
        self.process.send_signal(reload_signal)
        wait_until(lambda: self.workers() - before, f"{self.name}: reload")

    def workers(self):
        pid = self.process.pid
        return set(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


class Nginx(Proxy):
    name = "nginx"

    def __init__(self, folder, port, upstream):
        text = (ROOT / "docker/deploy/nginx.conf").read_text()
        text = text.replace("listen 80;", f"listen 127.0.0.1:{port};")
        text = text.replace("127.0.0.1:8080", f"127.0.0.1:{upstream}")
        temporary = "\n".join(
            f"{kind}_temp_path {folder}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        file = folder / "nginx.conf"
        file.write_text(
            f"pid {folder}/nginx.pid; error_log {folder}/error.log; daemon off;\n"
            f"events {{ worker_connections 512; }}\n"
            f"http {{ access_log off; {temporary}\n{text} }}\n")
        self.process = subprocess.Popen(["nginx", "-c", file, "-e", folder / "error.log"])

    def reload(self):
        self.replace_workers(signal.SIGHUP)


class HAProxy(Proxy):
    name = "haproxy"

    def __init__(self, folder, port, upstream):
        text = (ROOT / "docker/deploy/haproxy.cfg").read_text()
        text = text.replace("bind :80", f"bind 127.0.0.1:{port}")
        if os.getuid() != 0:
            text = re.sub(r"\n  (user|group|chroot) .*", "", text)
        text = text.replace("127.0.0.1:8080", f"127.0.0.1:{upstream}")
        file = folder / "haproxy.cfg"
        file.write_text(text)
        # -W: the main process replaces its worker on SIGUSR2.
        self.process = subprocess.Popen(
            ["haproxy", "-W", "-f", file, "-p", folder / "haproxy.pid"],
            stderr=(folder / "haproxy.log").open("w"))

    def reload(self):
        self.replace_workers(signal.SIGUSR2)


class Caddy(Proxy):
    """Without TLS: the other checks are about HTTP, and no authority gives a certificate for the name."""

    name = "caddy"

    def __init__(self, folder, port, upstream):
        self.begin(folder, f"http://livefetch.example:{port}", f"127.0.0.1:{upstream}")

    def begin(self, folder, site, upstream):
        self.admin = f"127.0.0.1:{free_port()}"
        self.file = folder / "Caddyfile"
        self.file.write_text(
            f"{{\n\tadmin {self.admin}\n\tdefault_bind 127.0.0.1\n}}\n"
            + (ROOT / "docker/deploy/Caddyfile").read_text())
        self.environment = {
            **os.environ, "HOME": str(folder), "XDG_DATA_HOME": f"{folder}/data",
            "XDG_CONFIG_HOME": f"{folder}/config", "SITE": site, "UPSTREAM": upstream}
        self.process = self.command("run", stderr=(folder / "caddy.log").open("w"))

    def command(self, name, *arguments, **options):
        return subprocess.Popen(
            ["caddy", name, "--adapter", "caddyfile", "--config", self.file, *arguments],
            env=self.environment, **options)

    def reload(self):
        # `--force`: also where the file is the same.
        command = self.command(
            "reload", "--address", self.admin, "--force", stderr=subprocess.DEVNULL)
        assert command.wait(LIMIT) == 0


class Balancer(Caddy):
    """`balancer` of docker/compose.yaml: its file and variables, with free ports."""

    name = "balancer"

    def __init__(self, folder, port, ports):
        block, environment = service("balancer")
        assert "- ./deploy/Caddyfile:/etc/caddy/Caddyfile:ro\n" in block, block
        site, upstream = environment["SITE"], environment["UPSTREAM"]
        assert (site, len(ports)) == (":8080", len(upstream.split())), environment
        for number, own in enumerate(ports, 1):
            upstream = upstream.replace(f"server-{number}:8080", f"127.0.0.1:{own}")
        assert "server" not in upstream, upstream
        self.begin(folder, f":{port}", upstream)


def service(name):
    """The text and the variables of a service in docker/compose.yaml."""
    text = (ROOT / "docker/compose.yaml").read_text()
    block = re.search(rf"^  {name}:(?: &\w+)?\n((?:    .*\n)*)", text, re.M)[1]
    variables = re.search(r"^    environment:\n((?:      .*\n)*)", block, re.M)[1]
    return block, dict(re.findall(r'^      (\w+): *"?(.*?)"?$', variables, re.M))


def check_installed(kinds):
    os.environ["PATH"] += ":/usr/sbin"
    missing = [program for program in kinds if not shutil.which(program)]
    if missing:
        sys.exit(f"proxies: not installed: {' '.join(missing)}")
