#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_top.py IMAGE.json WANT FOLDER [TEST [RTL]]: runs test_top.py in FOLDER, all of it or TEST (names, commas
between them), on the chip that IMAGE.json of `sqsim image` names, made from the sources in RTL (by default those
beside this file). WANT is the memory after the image. The simulator is Icarus; Yosys turns the sources into
Verilog that version 11 of Debian 12 reads. (With Verilator 5.006 and cocotb 1.9 no register write reaches the
chip once a model of cocotbext-axi watches the clock.)
Exit status 0 where every test passed, 1 where one did not, 2 where nothing ran, 77 without one of the tools."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

try:
    from cocotb.runner import get_results, get_runner
    import cocotbext.axi  # noqa: F401
except ImportError as e:
    print(f"cocotb: skipped: no {e.name}")  # cocotb 2 has no cocotb.runner
    sys.exit(77)
for tool in ("iverilog", "yosys"):
    if not shutil.which(tool):
        print(f"cocotb: skipped: no {tool}")
        sys.exit(77)

here = pathlib.Path(__file__).resolve().parent
image, want, folder = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
tests = sys.argv[4] if len(sys.argv) > 4 else ""
rtl = pathlib.Path(sys.argv[5]).resolve() if len(sys.argv) > 5 else here.parent
layer = json.loads(image.read_text())
# What the image says of the chip has the names of the parameters of sq_top, which begin with a capital.
parameters = " ".join(f"-chparam {name} {value}" for name, value in layer.items() if name[0].isupper())
sources = " ".join(f"{rtl}/{name}" for name in (rtl / "files.f").read_text().split())
script = f"""read_verilog -nodpi -sv -defer -DSYNTHESIS -I{rtl} {sources}
hierarchy -check -top sq_top {parameters}
proc
clean
rename -top sq_top
write_verilog -noattr {folder}/sq_top.v
"""
folder.mkdir(parents=True, exist_ok=True)
(folder / "netlist.ys").write_text(script)
try:
    subprocess.run(["yosys", "-q", "-e", "implicitly declared", "-s", folder / "netlist.ys"], check=True)
    runner = get_runner("icarus")
    runner.build(verilog_sources=[folder / "sq_top.v"], hdl_toplevel="sq_top", build_dir=folder, always=True,
                 timescale=("1ns", "1ns"))
except (subprocess.CalledProcessError, SystemExit) as e:
    print(f"cocotb: nothing built: {e}")
    sys.exit(2)
os.environ.update(SQ_IMAGE=str(image), SQ_WANT=str(want), COCOTB_LOG_LEVEL="WARNING",
                  PYTHONPATH=os.pathsep.join([str(here), os.environ.get("PYTHONPATH", "")]))
results = runner.test(hdl_toplevel="sq_top", test_module="test_top", testcase=tests or None, build_dir=folder,
                      test_dir=folder, timescale=("1ns", "1ns"))
n_tests, n_failed = get_results(results)
print(f"cocotb: {n_tests} tests of the chip, {n_failed} failed")
sys.exit(2 if not n_tests else 1 if n_failed else 0)
