#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py [FOLDER]: builds sq_gather with Verilator and runs test_gather.py on it, in FOLDER (by
default build/cocotb); exit status 0 where every test passed, 77 without cocotb. cocotb 1.9 works
with Verilator 5.006 of Debian 12, cocotb 2 wants a later one."""
import os
import pathlib
import sys

try:
    import cocotb
    if int(cocotb.__version__.split(".")[0]) >= 2:
        from cocotb_tools.runner import get_results, get_runner
    else:
        from cocotb.runner import get_results, get_runner
except ImportError:
    print("cocotb: skipped: no cocotb")
    sys.exit(77)

root = pathlib.Path(__file__).resolve().parents[2]
folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else root / "build" / "cocotb").resolve()
sources = [root / line for line in (root / "sqsim.f").read_text().split() if line.endswith(".sv")]
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_gather as test  # noqa: E402  its parameters

runner = get_runner("verilator")
runner.build(sources=sources, includes=[root / "rtl"], hdl_toplevel="sq_gather", build_dir=folder, always=True,
             parameters={"BankLen": test.BANK, "HighPerBank": test.HIGH, "ActW": test.ACT, "LowW": test.LOW},
             build_args=[str(root / "rtl" / "lint.vlt"), "--x-initial", "unique"])
os.environ["PYTHONPATH"] = os.pathsep.join([sys.path[0], os.environ.get("PYTHONPATH", "")])
results = runner.test(hdl_toplevel="sq_gather", test_module="test_gather", build_dir=folder, test_dir=folder)
n_tests, n_failed = get_results(results)
print(f"cocotb: {n_tests} tests, {n_failed} failed")
sys.exit(0 if n_tests and not n_failed else 1)
