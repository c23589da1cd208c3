"""Digest of the code that each node kind runs, taken while npubench is built.

Nothing is listed by hand but where a kind begins (its stage, the runner). From there on
  * symbols of the object files say which units can be reached (what the linker does with a library),
  * the compiler's own record of included files says what each of these units was made of,
  * the command lines of the build say with which flags.
A kind's digest covers the contents of those files, the flags of those units, the set of flags that
occur anywhere in the program (a linker keeps one copy of an inline function, from any unit) and the
compiler. Paths of checkout and build folder, sanitizers, optimisation levels and the instruction sets
of the SIMD levels do not change it, nor do tests.

Writes a C++ table and, beside it, <output>.sources: "kind<TAB>file" a line. Standard library only.
"""

import argparse
import hashlib
import json
import os
import re
import shlex
import struct
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

# Flags that cannot change a value; every other flag counts, known or not.
HARMLESS = [re.compile(pattern) for pattern in (
    r"-W(?!a,|p,|l,).*", r"-w", r"-pedantic.*",       # warnings
    r"-g.*", r"-pipe", r"-M[MDGP]*", r"-fdiagnostics-.*", r"-f(no-)?color-diagnostics",
    r"-fmessage-length=.*", r"-fpch-.*", r"-f(debug|file|macro)-prefix-map=.*", r"--sysroot=.*",
    r"-f(no-)?sanitize.*", r"-f(no-)?omit-frame-pointer",
    r"-f(no-)?(pic|PIC|pie|PIE)", r"-pthread",
    r"-f(no-)?stack-(protector|clash-protection).*", r"-fcf-protection.*", r"-mbranch-protection=.*",
    r"-[UD]_FORTIFY_SOURCE(=\d)?",
    r"-O([0-3sgz])?",  # all conform to IEEE 754 as written; -Ofast does not and counts
    r"-I.*", r"-DNB_HAS_(X86|NEON)_LEVELS?",
)]
# The same, with an argument of their own.
HARMLESS_PAIRS = {"-I", "-isystem", "-iquote", "-idirafter", "-o", "-c", "-MF", "-MT", "-MQ",
                  "-include", "--sysroot", "-isysroot"}
# One source compiled once for every instruction set of this processor, tested to give equal bits.
LEVEL_UNIT = re.compile(r"-DNB_LEVEL=")
LEVEL_FLAGS = re.compile(r"-m.*|-DNB_LEVEL(_ID)?=.*")
LEVEL_FOLDER = "model/kernels/inner"  # all of it counts, whichever of its levels are built


def flags_of(command, roots):
    """The flags of a command line that can change a value, in their order."""
    tokens = shlex.split(command)
    while tokens and not tokens[0].startswith("-"):
        tokens.pop(0)  # launcher and compiler
    is_level = any(LEVEL_UNIT.match(token) for token in tokens)
    flags = []
    skip = False
    for token in tokens:
        if skip:
            skip = False
        elif token in HARMLESS_PAIRS:
            skip = True
        elif any(pattern.fullmatch(token) for pattern in HARMLESS):
            pass
        elif is_level and LEVEL_FLAGS.fullmatch(token):
            pass
        else:
            for root, name in roots:
                token = token.replace(root, name)
            flags.append(token)
    return flags


def arguments_of(command, flag):
    tokens = shlex.split(command)
    return [tokens[i + 1] for i, token in enumerate(tokens[:-1]) if token == flag]


def ninja_dependencies(path):
    """.ninja_deps: output -> files that its compiler read (format 4, ninja 1.5 and later)."""
    data = path.read_bytes()
    if not data.startswith(b"# ninjadeps\n") or struct.unpack_from("<i", data, 12)[0] not in (3, 4):
        sys.exit(f"{path}: not a dependency log of ninja that this script reads")
    head = 2 if struct.unpack_from("<i", data, 12)[0] == 3 else 3  # output, time stamp
    paths, read, at = [], {}, 16
    while at + 4 <= len(data):
        (size,) = struct.unpack_from("<I", data, at)
        is_dependencies, size = size >> 31, size & 0x7FFFFFFF
        at += 4
        if at + size > len(data):
            break  # ninja is writing it
        if is_dependencies:
            ids = struct.unpack_from(f"<{size // 4}i", data, at)
            read[paths[ids[0]]] = [paths[i] for i in ids[head:]]
        else:
            if struct.unpack_from("<I", data, at + size - 4)[0] != ~len(paths) & 0xFFFFFFFF:
                sys.exit(f"{path}: damaged (two builds at once?); build again")
            paths.append(data[at:at + size - 4].rstrip(b"\0").decode())
        at += size
    return read


def symbols_of(nm, objects):
    """object -> (defined names, undefined names); a weak definition is one too."""
    listed = subprocess.run([nm, "-P", "-A", "-g", *objects], text=True, capture_output=True)
    if listed.returncode != 0:
        sys.exit(f"{nm} cannot list the symbols of the program's objects: {listed.stderr.strip()}")
    listing = listed.stdout
    defined, undefined = defaultdict(set), defaultdict(set)
    for line in listing.splitlines():
        where, _, rest = line.partition(": ")
        name, kind = rest.split(" ")[:2]
        (undefined if kind in "Uwv" else defined)[where.split("[")[0]].add(name)
    return defined, undefined


class Program:
    def __init__(self, options):
        self.source = Path(options.source).resolve()
        self.build = Path(options.build).resolve()
        self.objects = [os.path.normpath(line)
                        for line in Path(options.objects).read_text().splitlines()
                        if line and not line.endswith(".gch")]
        roots = [(str(self.build), "<build>"), (str(self.source), "<source>")]
        self.flags, self.precompiled = {}, {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            command = entry.get("command") or shlex.join(entry["arguments"])
            output = os.path.normpath(self.build / arguments_of(command, "-o")[0])
            self.flags[output] = flags_of(command, roots)
            # The record of an object that reuses a precompiled header does not name it.
            self.precompiled[output] = [name + ".gch" for name in arguments_of(command, "-include")]
        log = self.build / ".ninja_deps"
        self.read = {os.path.normpath(self.build / name): files
                     for name, files in (ninja_dependencies(log) if log.exists() else {}).items()}
        self.compiler = options.compiler
        self.defined, self.undefined = symbols_of(options.nm, self.objects)
        for one in self.objects:
            if one not in self.flags:
                sys.exit(f"{one}: compile_commands.json does not say how it was compiled")
            if any(flag.startswith("-flto") for flag in self.flags[one]):
                sys.exit(f"{one}: built with -flto, which hides the symbols that tell what a node "
                         "kind runs; build without it")
        self.definers = defaultdict(list)
        for one in self.objects:
            for name in self.defined[one]:
                self.definers[name].append(one)
        self.files = {one: self.files_of(one) for one in self.objects}
        self.flags_anywhere = sorted({" ".join(self.flags[one]) for one in self.objects})
        self.digests, self.running = {}, {}

    def files_of(self, one):
        """Names of our files that an object was made of, sorted."""
        depfile = Path(one + ".d")  # where the build tool keeps the compiler's own file
        if one in self.read:
            queue = list(self.read[one])
        elif depfile.exists():
            queue = shlex.split(depfile.read_text().replace("\\\n", " ").partition(": ")[2])
        else:
            sys.exit(f"{one}: the build keeps no record of the files that it was made of; "
                     "build with Ninja")
        queue += self.precompiled[one]
        names, seen = set(), set()
        while queue:
            path = os.path.normpath(self.build / queue.pop())
            if path in seen:
                continue
            seen.add(path)
            queue += self.read.get(path, [])  # what a precompiled header was made of
            if path.endswith(".gch") or os.path.basename(path).startswith("cmake_pch"):
                continue  # a list of headers, where the build precompiles any at all
            for root, name in ((self.build, "build/"), (self.source, "")):
                if path.startswith(f"{root}/"):
                    below = path[len(str(root)) + 1:]
                    # Another folder of builds ("build/aarch64-sysroot") holds libraries, as /usr does.
                    if name or not below.startswith("build/"):
                        names.add(name + below)
                    break
        return sorted(names)

    def content(self, name):
        """Bytes of a file; of a generated one without the paths in it."""
        if not name.startswith("build/"):
            return (self.source / name).read_bytes()
        data = (self.build / name[len("build/"):]).read_bytes()
        return data.replace(str(self.build).encode(), b"<build>") \
                   .replace(str(self.source).encode(), b"<source>")

    def digest(self, name):
        if name not in self.digests:
            self.digests[name] = hashlib.sha256(self.content(name)).hexdigest()
        return self.digests[name]

    def reached_from(self, roots):
        """Objects that the linker would take for those made of the root files."""
        queue = []
        for root in roots:
            made_of_it = [one for one in self.objects if root in self.files[one]]
            if not made_of_it:
                sys.exit(f"{root}: no object of the program is made of it")
            queue += made_of_it
        reached = set()
        while queue:
            one = queue.pop()
            if one in reached:
                continue
            reached.add(one)
            for name in self.undefined[one]:
                queue += self.definers.get(name, [])
        return sorted(reached)

    def what_runs(self, roots):
        """(names of files, "unit flags" of the units) that are reached from the roots."""
        if roots not in self.running:
            names, units = set(), set()
            for one in self.reached_from(roots):
                names.update(self.files[one])
                units.add((self.source_of(one), " ".join(self.flags[one])))
            if any(os.path.dirname(name) == LEVEL_FOLDER for name in names):
                names.update(f"{LEVEL_FOLDER}/{path.name}"
                             for path in (self.source / LEVEL_FOLDER).iterdir()
                             if path.suffix in (".cpp", ".hpp"))
            self.running[roots] = (sorted(names), sorted(units))
        return self.running[roots]

    def components(self, roots):
        """Folder -> lines "file digest" and "unit flags", which its digest is taken over."""
        names, units = self.what_runs(roots)
        lines = defaultdict(set)
        for unit, flags in units:
            lines[os.path.dirname(unit)].add(f"{unit} {flags}")
        for name in names:
            lines[os.path.dirname(name)].add(f"{name} {self.digest(name)}")
        lines["compiler and flags"].update([self.compiler, *self.flags_anywhere])
        return {folder: sorted(folder_lines) for folder, folder_lines in lines.items()}, names

    def source_of(self, one):
        """The source of an object: "<folder>/<source>.o" of its target."""
        name = os.path.basename(one)[:-len(".o")]
        for candidate in self.files[one]:
            if os.path.basename(candidate) == name:
                return candidate
        return "build/" + os.path.relpath(one, self.build)


def digest_of(lines):
    return hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()


def table_text(kinds):
    rows = "".join(f'    {{"{kind}", "{folder}", "{digest_of(lines)}"}},\n'
                   for kind, components in sorted(kinds.items())
                   for folder, lines in sorted(components.items()))
    return f"""// Made by harness/plan/code_digest.py.
#include "harness/plan/code_table.hpp"

namespace nb {{
namespace {{
constexpr CodeDigest kDigests[] = {{
{rows}}};
}}  // namespace
std::span<const CodeDigest> code_table() {{ return kDigests; }}
}}  // namespace nb
"""


def check_units(path, runs):
    """Stops where kinds run some sources of a unit of the other builds and not the others. Only a build
    that compiles each source by itself can tell. runs: file -> kinds that run it."""
    units = defaultdict(lambda: defaultdict(list))
    for line in path.read_text().splitlines():
        unit, source = line.split("\t")
        units[unit][", ".join(sorted(runs[source])) or "no node"].append(source)
    said = [f"{unit}: these sources are not run by the same kinds of nodes and cannot be one unit "
            "(UNIT in CMakeLists.txt):\n" +
            "\n".join(f"  {kinds}: {' '.join(sources)}" for kinds, sources in sorted(parts.items()))
            for unit, parts in sorted(units.items()) if len(parts) > 1]
    if said:
        sys.exit("\n".join(said))


def write_if_different(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", required=True, help="root of the checkout")
    parser.add_argument("--build", required=True, help="build folder: compile_commands.json, .ninja_deps")
    parser.add_argument("--objects", required=True, help="file that lists the program's objects")
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--compiler", required=True, help="its name and version")
    parser.add_argument("--kind", action="append", required=True, metavar="KIND=FILE,FILE",
                        help="sources in which a node kind begins")
    parser.add_argument("--units", help="file of lines unit<TAB>source; those of a unit must be run by the same kinds")
    parser.add_argument("--output", help="C++ file to write, only when it changes")
    parser.add_argument("--mutate", action="store_true",
                        help="instead: change every file of every kind in memory, one by one, and say "
                             "whose digest stayed")
    options = parser.parse_args()
    program = Program(options)
    kinds, sources = {}, []
    begins, runs = {}, defaultdict(set)
    for kind_text in options.kind:
        kind, _, files = kind_text.partition("=")
        begins[kind] = tuple(files.split(","))
        kinds[kind], names = program.components(begins[kind])
        sources += [f"{kind}\t{name}\n" for name in names]
        for name in names:
            runs[name].add(kind)
    if options.units:
        check_units(Path(options.units), runs)
    if options.mutate:
        sys.exit(mutate(program, begins, kinds, sources))
    output = Path(options.output)
    write_if_different(output, table_text(kinds))
    write_if_different(output.with_name(output.name + ".sources"), "".join(sources))


def mutate(program, begins, kinds, sources):
    """Changes each source in turn and takes the digests of its kind again."""
    unchanged = 0
    for line in sources:
        kind, name = line.rstrip("\n").split("\t")
        kept = program.digests[name]
        program.digests[name] = hashlib.sha256(program.content(name) + b"\n").hexdigest()
        again, _ = program.components(begins[kind])
        program.digests[name] = kept
        if again == kinds[kind]:
            print(f"{kind}: {name} changes nothing")
            unchanged += 1
    print(f"{len(sources)} sources of {len(kinds)} kinds, {unchanged} of them change nothing")
    return 1 if unchanged else 0


if __name__ == "__main__":
    main()
