"""Makes the packages of flow from one binary. Called by packaging/build, which says what the arguments are.

Nothing in a package depends on the machine or the moment: names are sorted, owners are root, and all times are those of
SOURCE_DATE_EPOCH.
"""

import argparse
import base64
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from pathlib import Path

EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]
VERSION = PROJECT["version"]
SUMMARY = PROJECT["description"]
LICENCE = PROJECT["license"]
README = (ROOT / "README.md").read_text()

# What the systems and processors of each target are called elsewhere: the tag of a wheel, npm's os and cpu, Debian's architecture.
# A static binary for Linux needs no C library, so it has the oldest tag.
TARGETS = {
    "x86_64-unknown-linux-gnu": ("manylinux_2_5_x86_64.manylinux1_x86_64.musllinux_1_1_x86_64", "linux", "x64", "amd64"),
    "x86_64-unknown-linux-musl": ("manylinux_2_5_x86_64.manylinux1_x86_64.musllinux_1_1_x86_64", "linux", "x64", "amd64"),
    "aarch64-unknown-linux-gnu": ("manylinux_2_17_aarch64.musllinux_1_1_aarch64", "linux", "arm64", "arm64"),
    "aarch64-unknown-linux-musl": ("manylinux_2_17_aarch64.musllinux_1_1_aarch64", "linux", "arm64", "arm64"),
    "x86_64-apple-darwin": ("macosx_11_0_x86_64", "darwin", "x64", None),
    "aarch64-apple-darwin": ("macosx_11_0_arm64", "darwin", "arm64", None),
}


def wheel(binary, tag, out):
    """A wheel whose only script is the binary."""
    name = f"flowrun-{VERSION}"
    info, scripts = f"{name}.dist-info", f"{name}.data/scripts"
    metadata = (
        f"Metadata-Version: 2.4\nName: flowrun\nVersion: {VERSION}\nSummary: {SUMMARY}\nLicense-Expression: {LICENCE}\n"
        "License-File: LICENSE-APACHE\nLicense-File: LICENSE-MIT\n"
        f"Description-Content-Type: text/markdown\n\n{README}"
    )
    tags = "".join(f"Tag: py3-none-{one}\n" for one in tag.split("."))
    files = {
        f"{scripts}/flow": (binary.read_bytes(), 0o755),
        f"{info}/METADATA": (metadata.encode(), 0o644),
        f"{info}/WHEEL": (f"Wheel-Version: 1.0\nGenerator: flowrun\nRoot-Is-Purelib: false\n{tags}".encode(), 0o644),
    }
    for licence in ("LICENSE-APACHE", "LICENSE-MIT"):
        files[f"{info}/licenses/{licence}"] = ((ROOT / licence).read_bytes(), 0o644)
    record = []
    for path, (content, _) in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(content)}\n")
    record.append(f"{info}/RECORD,,\n")
    files[f"{info}/RECORD"] = ("".join(record).encode(), 0o644)
    # The format has no earlier year.
    when = time.gmtime(max(EPOCH, 315532800))[:6]
    with zipfile.ZipFile(out / f"{name}-py3-none-{tag}.whl", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, (content, mode) in files.items():
            entry = zipfile.ZipInfo(path, when)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | mode) << 16
            entry.create_system = 3
            archive.writestr(entry, content)


def tar_gz(path, files):
    """An archive of `files`: names, contents and modes."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content, mode in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, EPOCH
            entry.uname = entry.gname = "root"
            archive.addfile(entry, io.BytesIO(content))
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=EPOCH) as packed:
        packed.write(plain.getvalue())


def archive(binary, target, beside, out):
    """What `cargo binstall` takes, and whoever wants no package."""
    top = f"flow-{VERSION}-{target}"
    files = [(f"{top}/flow", binary.read_bytes(), 0o755)]
    for name in ("LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"):
        files.append((f"{top}/{name}", (ROOT / name).read_bytes(), 0o644))
    for folder in ("man", "completions"):
        for file in (beside / folder).iterdir():
            files.append((f"{top}/{folder}/{file.name}", file.read_bytes(), 0o644))
    tar_gz(out / f"flow-{VERSION}-{target}.tar.gz", files)


def npm(binary, system, processor, out):
    """A package with the binary, and one that brings it and starts it.

    npm unpacks below `package/`, and makes what `bin` names executable.
    """
    platform = f"@flowrun/{system}-{processor}"
    common = {"version": VERSION, "description": SUMMARY, "license": LICENCE}
    own = {"name": platform, **common, "os": [system], "cpu": [processor], "files": ["bin"], "preferUnplugged": True}
    launcher = {
        "name": "flowrun",
        **common,
        "bin": {"flow": "bin/flow"},
        "files": ["bin", "install.js"],
        "scripts": {"postinstall": "node install.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {name: VERSION for name in sorted({f"@flowrun/{s}-{p}" for _, s, p, _ in TARGETS.values()})},
    }
    licences = [(f"package/{name}", (ROOT / name).read_bytes(), 0o644) for name in ("LICENSE-APACHE", "LICENSE-MIT")]
    readme = ("package/README.md", README.encode(), 0o644)

    def described(value):
        return ("package/package.json", (json.dumps(value, indent=2) + "\n").encode(), 0o644)

    tar_gz(
        out / f"flowrun-{system}-{processor}-{VERSION}.tgz",
        [described(own), ("package/bin/flow", binary.read_bytes(), 0o755), readme, *licences],
    )
    scripts = ROOT / "packaging" / "npm"
    files = [
        described(launcher),
        ("package/bin/flow", (scripts / "flow").read_bytes(), 0o755),
        ("package/install.js", (scripts / "install.js").read_bytes(), 0o644),
    ]
    tar_gz(out / f"flowrun-{VERSION}.tgz", [*files, readme, *licences])


def debian(binary, architecture, beside, work, out):
    """A package with the binary, its manual pages and completions."""
    tree = work / "debian"
    documents = tree / "usr/share/doc/flowrun"
    manual = tree / "usr/share/man/man1"
    places = {
        "bash": tree / "usr/share/bash-completion/completions/flow",
        "zsh": tree / "usr/share/zsh/vendor-completions/_flow",
        "fish": tree / "usr/share/fish/vendor_completions.d/flow.fish",
    }
    for folder in (tree / "DEBIAN", tree / "usr/bin", documents, manual, *(place.parent for place in places.values())):
        folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(binary, tree / "usr/bin/flow")
    for page in (beside / "man").iterdir():
        (manual / f"{page.name}.gz").write_bytes(gzip.compress(page.read_bytes(), 9, mtime=0))
    for shell, place in places.items():
        shutil.copyfile(beside / "completions" / f"flow.{shell}", place)
    licences = "\n\n".join((ROOT / name).read_text() for name in ("LICENSE-MIT", "LICENSE-APACHE"))
    (documents / "copyright").write_text(f"flow is under the MIT licence or the Apache licence 2.0, as you like.\n\n{licences}")
    changes = (ROOT / "CHANGELOG.md").read_bytes()
    (documents / "changelog.gz").write_bytes(gzip.compress(changes, 9, mtime=0))
    files = [file for file in sorted(tree.rglob("*")) if file.is_file()]
    size = sum(file.stat().st_size for file in files) // 1024 + 1
    (tree / "DEBIAN/control").write_text(
        f"Package: flowrun\nVersion: {VERSION}\nArchitecture: {architecture}\nMaintainer: The flow authors <flow@localhost>\n"
        f"Installed-Size: {size}\nSection: devel\nPriority: optional\nRecommends: git\nDescription: {SUMMARY}\n"
    )
    for path in [tree, *tree.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or path == tree / "usr/bin/flow" else 0o644)
        os.utime(path, (EPOCH, EPOCH))
    package = out / f"flowrun_{VERSION}_{architecture}.deb"
    # Its usual compression takes a minute longer and saves a tenth.
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Zxz", "-z6", "--build", tree, package], check=True, stdout=subprocess.DEVNULL
    )


def main():
    arguments = argparse.ArgumentParser()
    for name in ("binary", "beside", "out"):
        arguments.add_argument(f"--{name}", type=Path, required=True)
    arguments.add_argument("--target", choices=TARGETS, required=True)
    given = arguments.parse_args()
    tag, system, processor, architecture = TARGETS[given.target]
    wheel(given.binary, tag, given.out)
    archive(given.binary, given.target, given.beside, given.out)
    npm(given.binary, system, processor, given.out)
    if architecture is None:
        return
    if shutil.which("dpkg-deb"):
        debian(given.binary, architecture, given.beside, given.beside, given.out)
    else:
        print("packaging: left out the package for Debian: there is no dpkg-deb", file=sys.stderr)


if __name__ == "__main__":
    main()
