#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""slang.py: every module of sqsim.f alone as a top through slang (PyPI pyslang), with its extra
warnings; any fails. Run at the root of the sources; 77: no pyslang."""
import contextlib
import os
import sys
import tempfile

try:
    from pyslang import driver
except ImportError:
    print("slang: skipped: no pyslang")
    sys.exit(77)

with open("sqsim.f", encoding="utf-8") as file:
    modules = [os.path.basename(line.strip())[:-3] for line in file if line.strip().endswith(".sv")]


@contextlib.contextmanager
def captured(lines):
    """Everything that is written to descriptors 1 and 2, by C++ too."""
    saved = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as file:
        sys.stdout.flush()
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            for to, back in zip((1, 2), saved):
                os.dup2(back, to)
                os.close(back)
            file.seek(0)
            lines += file.read().decode("utf-8", "replace").splitlines()


def lint(top):
    """Whether nothing was found. Left out: sign-conversion, as $clog2 is signed by the standard;
    useless-cast, as a cast to a parameter's width is one at some widths; shadow-hierarchy, as the
    instances of sq_pe_mixed keep the names that the netlists and their mutants have."""
    d = driver.Driver()
    d.addStandardArgs()
    options = "-Wextra -Wconversion -Wno-sign-conversion -Wno-useless-cast -Wno-shadow-hierarchy"
    if not d.parseCommandLine(f"slang -f sqsim.f --top {top} {options}") or not d.processOptions():
        return False
    if not d.parseAllSources() or not d.reportParseDiags():
        return False
    compilation = d.createCompilation()
    d.reportCompilation(compilation, True)
    if hasattr(d, "runAnalysis"):
        d.runAnalysis(compilation)
        d.reportDiagnostics(True)
    return d.diagEngine.numErrors == 0 and d.diagEngine.numWarnings == 0


failed = 0
for top in modules:
    lines = []
    with captured(lines):
        good = top.endswith("_pkg") or lint(top)
    if not good:
        print(f"slang: {top}", *lines[:20], sep="\n  ")
        failed += 1
if not failed:
    print(f"slang: {len(modules) - 2} modules, no finding")
sys.exit(1 if failed else 0)
