#!/usr/bin/env python3
"""Packs a release into dist/: a tarball, a Debian package, the Python client's wheel, SHA256SUMS.

usage: dist.py PROGRAM OUTPUT
PROGRAM is the folder that holds `livefetch` and its resources, as docker/build.sh lays it out.

The same program gives the same bytes: times are SOURCE_DATE_EPOCH (the last commit's), the order is
that of the names, the owner is root. Needs `dpkg-deb` for the Debian package.
"""

import base64
import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The versions are those of Debian 12, for which the program is built. An older release refuses the package.
DEPENDS = ", ".join((
    "libmicrohttpd12 (>= 0.9.75)", "libsqlite3-0 (>= 3.40.1)", "libcurl4 (>= 7.88.1)",
    "libgnutls30 (>= 3.7.9)", "libpq5 (>= 15)", "zlib1g (>= 1:1.2.13)", "libstdc++6 (>= 12.2)",
    "libc6 (>= 2.36)", "ca-certificates", "adduser"))
SHELLS = {
    "bash": "share/bash-completion/completions/livefetch",
    "zsh": "share/zsh/vendor-completions/_livefetch",
    "fish": "share/fish/vendor_completions.d/livefetch.fish",
}


# The README of the repository is about building, and its links lead into the repository.
README = """# LiveFetch {version}

LiveFetch serves an SQLite file or a PostgreSQL database over HTTP as live fetches. To try it, run
`livefetch demo` (in the tarball `bin/livefetch demo`) and open http://127.0.0.1:8080/.

A running server has the manual at `/docs/`; the same pages are files in `../../livefetch/public/docs`.
`examples/` has settings for systemd, nginx, HAProxy, Caddy, Prometheus and Grafana. Its units expect the
program as `/usr/bin/livefetch` and a user `livefetch`.
"""


def commit_time():
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return int(given or subprocess.check_output(
        ["git", "-C", ROOT, "log", "-1", "--format=%ct"], text=True))


def output(*command):
    return subprocess.check_output([str(part) for part in command], text=True)


# The man page, from the description that ArgumentParser prints of the commands.


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + l if l[:1] in ".'" else l for l in text.splitlines())


def names_of(argument):
    if argument["kind"] == "positional":
        return f"\\fI{escaped(argument['valueName'])}\\fR"
    dashes = {"long": "--", "short": "-", "longWithSingleDash": "-"}
    names = ", ".join(
        f"\\fB{escaped(dashes[n['kind']] + n['name'])}\\fR" for n in argument["names"])
    value = f" \\fI{escaped(argument['valueName'])}\\fR" if argument["kind"] == "option" else ""
    return names + value


def without_inversions(arguments):
    """Joins each flag with the one that takes it back: `--read-only`, `--no-read-only`."""
    kept = {}
    for argument in arguments:
        name = argument.get("preferredName", {}).get("name", argument["valueName"])
        if argument["kind"] == "flag" and name.startswith("no-") and name[3:] in kept:
            kept[name[3:]]["names"] += argument["names"]
        else:
            kept[name] = argument
    return list(kept.values())


def command_section(command, path):
    name = " ".join(path)
    lines = [f".SS {escaped(name)}", escaped(command.get("abstract", ""))]
    if command.get("discussion") and len(path) > 1:
        lines += [".PP", ".nf", escaped(command["discussion"]), ".fi"]
    for argument in without_inversions(command.get("arguments", [])):
        if argument["shouldDisplay"] and names_of(argument) not in COMMON:
            lines += [".TP", names_of(argument), escaped(argument.get("abstract", ""))]
    for child in command.get("subcommands", []):
        if child["commandName"] != "help":
            lines += command_section(child, path + [child["commandName"]])
    return lines


COMMON = ("\\fB\\-\\-version\\fR", "\\fB\\-h\\fR, \\fB\\-\\-help\\fR")


def man_page(program, version, date):
    top = json.loads(output(program, "--experimental-dump-help"))["command"]
    lines = [
        f'.TH LIVEFETCH 1 "{date}" "LiveFetch {version}" "User commands"',
        # Names of options and variables are not hyphenated.
        ".nh",
        ".SH NAME", f"livefetch \\- {escaped(top['abstract'])}",
        ".SH SYNOPSIS", ".B livefetch", "\\fIcommand\\fR [\\fIoptions\\fR]",
        ".SH DESCRIPTION", ".nf", escaped(top["discussion"]), ".fi",
        ".SH COMMANDS", "Each command knows \\fB\\-h\\fR and \\fB\\-\\-help\\fR."]
    for command in top["subcommands"]:
        if command["commandName"] != "help":
            lines += command_section(command, ["livefetch", command["commandName"]])
    return "\n".join(line for line in lines if line) + "\n"


# Folders and archives.


def lay_out(program, prefix, version, date):
    """Writes what an installation holds under `prefix` (`/usr`, or the tarball's folder)."""
    library = prefix / "lib/livefetch"
    library.mkdir(parents=True)
    for item in sorted(program.iterdir()):
        if item.is_dir():
            shutil.copytree(item, library / item.name)
    shutil.copy(program / "livefetch", library / "livefetch")
    (library / "livefetch").chmod(0o755)
    (prefix / "bin").mkdir()
    (prefix / "bin/livefetch").symlink_to("../lib/livefetch/livefetch")
    for shell, place in SHELLS.items():
        write(prefix / place, output(
            program / "livefetch", "--generate-completion-script", shell))
    page = man_page(program / "livefetch", version, date)
    write(prefix / "share/man/man1/livefetch.1.gz", gzip.compress(page.encode(), mtime=0))
    shutil.copytree(ROOT / "Public", prefix / "share/livefetch/public",
                    ignore=shutil.ignore_patterns(".*", "__pycache__"))
    # Without the maintainer scripts of the Debian package.
    shutil.copytree(ROOT / "docker/deploy", prefix / "share/doc/livefetch/examples",
                    ignore=shutil.ignore_patterns("debian"))
    write(prefix / "share/doc/livefetch/README.md", README.format(version=version))
    for name in ("CHANGELOG.md", "SECURITY.md"):
        shutil.copy(ROOT / name, prefix / "share/doc/livefetch" / name)
    # With the licences of the libraries that are linked into the program.
    shutil.copy(program / "copyright", prefix / "share/doc/livefetch/copyright")


def write(path, contents):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())


def set_attributes(folder, seconds):
    """Gives every file one time and a mode that does not depend on the umask."""
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        os.utime(path, (seconds, seconds), follow_symlinks=False)


def tarball(folder, path, seconds):
    def owned(info):
        info.uid = info.gid = 0
        info.uname = info.gname = "root"
        info.mtime = seconds
        return info

    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for item in [folder, *sorted(folder.rglob("*"))]:
            archive.add(item, str(item.relative_to(folder.parent)), recursive=False, filter=owned)
    path.write_bytes(gzip.compress(raw.getvalue(), 9, mtime=0))


def debian_package(program, path, version, architecture, date, seconds, work):
    root = work / "deb"
    lay_out(program, root / "usr", version, date)
    for unit in sorted((ROOT / "docker/deploy/systemd").glob("livefetch*")):
        shutil_copy(unit, root / "usr/lib/systemd/system" / unit.name)
    write(root / "etc/livefetch/livefetch.json", "{}\n")
    size = sum(f.lstat().st_size for f in root.rglob("*") if f.is_file()) // 1024
    write(root / "DEBIAN/control", f"""Package: livefetch
Version: {version}
Architecture: {architecture}
Maintainer: The LiveFetch authors <livefetch@localhost>
Section: database
Priority: optional
Depends: {DEPENDS}
Installed-Size: {size}
Description: live, sorted, sectioned fetches over SQLite and PostgreSQL by HTTP
 Serves the tables of an SQLite file or of a PostgreSQL database. After each
 save a client gets the difference between the result that it has and the
 present one.
""")
    write(root / "DEBIAN/conffiles", "/etc/livefetch/livefetch.json\n")
    for script in ("postinst", "prerm", "postrm"):
        shutil_copy(ROOT / "docker/deploy/debian" / script, root / "DEBIAN" / script)
        (root / "DEBIAN" / script).chmod(0o755)
    set_attributes(root, seconds)
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, path], check=True,
        stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(seconds)})


def shutil_copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def wheel(folder, version, seconds):
    """Writes the wheel of Public/livefetch.py, as a package, because only packages can have a py.typed."""
    version = version.replace("-dev", ".dev0")
    information = f"livefetch-{version}.dist-info"
    files = {
        "livefetch/__init__.py": (ROOT / "Public/livefetch.py").read_bytes(),
        "livefetch/py.typed": b"",
        f"{information}/METADATA": (
            f"Metadata-Version: 2.1\nName: livefetch\nVersion: {version}\n"
            "Summary: Client of LiveFetch servers, on the standard library alone\n"
            "License: MIT\nRequires-Python: >=3.9\n").encode(),
        f"{information}/WHEEL":
            b"Wheel-Version: 1.0\nGenerator: dist.py\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{information}/LICENSE": (ROOT / "LICENSE").read_bytes(),
    }
    record = "".join(
        f"{n},sha256={digest64(c)},{len(c)}\n" for n, c in files.items())
    files[f"{information}/RECORD"] = (record + f"{information}/RECORD,,\n").encode()
    path = folder / f"livefetch-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, contents in files.items():
            entry = zipfile.ZipInfo(name, time.gmtime(seconds)[:6])
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, contents)


def digest64(contents):
    return base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()


def main():
    program, target = (pathlib.Path(a).resolve() for a in sys.argv[1:])
    version = output(program / "livefetch", "--version").split()[0]
    seconds = commit_time()
    date = time.strftime("%Y-%m-%d", time.gmtime(seconds))
    architecture = output("dpkg", "--print-architecture").strip()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / f"livefetch-{version}-linux-{architecture}"
        lay_out(program, folder, version, date)
        set_attributes(folder, seconds)
        tarball(folder, target / f"{folder.name}.tar.gz", seconds)
        # Debian's order: `~dev` precedes the release.
        debian = version.replace("-", "~")
        debian_package(
            program, target / f"livefetch_{debian}_{architecture}.deb", debian, architecture,
            date, seconds, pathlib.Path(name))
    wheel(target, version, seconds)
    sums = "".join(
        f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}\n" for f in sorted(target.iterdir()))
    (target / "SHA256SUMS").write_text(sums)
    print(sums, end="")


if __name__ == "__main__":
    main()
