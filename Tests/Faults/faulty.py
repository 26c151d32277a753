"""Controls `faulty.c`: builds the library, and sets for a process that was started with it which
system calls fail, how much longer a sync takes, and by how much its date is wrong."""

import mmap
import shutil
import struct
import subprocess
from pathlib import Path

WRITE, SYNC, READ, CUT = 1, 2, 4, 8
LAYOUT = struct.Struct("qiiii")
DELAY = struct.Struct("i")  # stands behind it


def build(folder):
    """The library, or None where there is no C compiler."""
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    if not compiler:
        return None
    library = folder / "faulty.so"
    source = Path(__file__).parent / "faulty.c"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


class Faulty:
    def __init__(self, folder, library):
        path = folder / "faulty.page"
        path.write_bytes(bytes(mmap.PAGESIZE))
        with path.open("r+b") as file:
            self.page = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        self.jump = 0
        self.environment = {"LD_PRELOAD": str(library), "FAULTY_PAGE": str(path)}

    def fail(self, calls, error, spared=0):
        """From now on these calls fail, but for the first ones."""
        self.page[: LAYOUT.size] = LAYOUT.pack(self.jump, error, calls, spared, 0)

    def work(self):
        """From now on none fails. How many did."""
        failures = LAYOUT.unpack(self.page[: LAYOUT.size])[4]
        self.fail(0, 0)
        return failures

    def slow(self, seconds):
        """From now on each sync takes so many seconds longer."""
        self.page[LAYOUT.size : LAYOUT.size + DELAY.size] = DELAY.pack(int(seconds * 1e6))

    def turn(self, seconds):
        """From now on the date is wrong by so many seconds."""
        self.jump = seconds
        self.page[:8] = struct.pack("q", seconds)
