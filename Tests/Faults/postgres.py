"""PostgreSQL servers of the tests' own: on Unix sockets, without TCP, in a folder that is given."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path


def programs():
    """The folder of the newest installed server's programs; None if there is none."""
    versions = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    found = sorted(versions, key=lambda path: float(path.parts[-3]), reverse=True)
    return found[0].parent if found else None


class Primary:
    """A server whose socket is in `folder`."""

    settings = ["listen_addresses=", "max_connections=200", "max_prepared_transactions=20",
                "deadlock_timeout=100ms"]

    def __init__(self, folder, *settings):
        self.folder, self.programs, self.process = folder, programs(), None
        self.target = f"host={folder} user=tester dbname=postgres"
        self.settings = self.settings + list(settings or ["fsync=off"])

    def __enter__(self):
        self.prepare()
        self.create()
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def prepare(self):
        self.user = []
        if os.getuid() == 0:
            # PostgreSQL refuses to run as root.
            self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
            os.chmod(self.folder.parent, 0o755)
        self.folder.mkdir(exist_ok=True)
        if self.user:
            shutil.chown(self.folder, "postgres", "postgres")
        self.log = open(self.folder.parent / f"{self.folder.name}.log", "a", encoding="utf-8")

    def create(self):
        self.carry("initdb", "-D", self.folder / "data", "-U", "tester", "-A", "trust", "-E", "UTF8",
                   "--no-locale", "--no-sync")

    def carry(self, program, *arguments):
        subprocess.run([*self.user, self.programs / program, *arguments], check=True,
                       stdout=self.log, stderr=self.log, cwd="/")

    def start(self):
        settings = [word for setting in self.settings for word in ("-c", setting)]
        self.process = subprocess.Popen(
            [*self.user, self.programs / "postgres", "-D", self.folder / "data", "-k", self.folder,
             *settings], stdout=self.log, stderr=self.log, cwd="/")
        while not self.is_ready():
            if self.process.poll() is not None:
                raise RuntimeError("PostgreSQL does not start")
            time.sleep(0.05)

    def is_ready(self):
        """True if it accepts connections."""
        command = [self.programs / "pg_isready", "-q", "-h", self.folder]
        return subprocess.run(command, check=False).returncode == 0

    def stop(self):
        """Ends it at once, as `pg_ctl stop -m immediate` does."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()

    def psql(self, *arguments, **settings):
        command = [self.programs / "psql", "-X", "-q", "-d", self.target, *arguments]
        return subprocess.Popen(command, text=True, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **settings)

    def run(self, script):
        """Runs a script. Returns its rows, whose values are separated by `|`."""
        process = self.psql("-v", "ON_ERROR_STOP=1", "-A", "-t")
        output, _ = process.communicate(script)
        if process.returncode:
            raise RuntimeError("the script failed")
        return output.splitlines()


class Standby(Primary):
    """A standby of `primary`, which waits for it at each commit."""

    def __init__(self, folder, primary, *settings):
        super().__init__(folder, *settings)
        self.primary = primary

    def create(self):
        self.carry("pg_basebackup", "-D", self.folder / "data", "-R", "-c", "fast", "-h",
                   self.primary.folder, "-U", "tester")

    def follow(self):
        """The primary's commits wait for this server from now on."""
        self.primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'; SELECT pg_reload_conf()")
        while self.primary.run("SELECT count(*) FROM pg_stat_replication"
                               " WHERE sync_state = 'sync' AND state = 'streaming'") != ["1"]:
            time.sleep(0.05)

    def promote(self):
        self.run("SELECT pg_promote()")
