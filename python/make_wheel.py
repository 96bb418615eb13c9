#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_wheel.py LIBRARY VERSION DIR: a wheel of python/sqsim with libsqsim.so inside.

A wheel is a ZIP with three files of metadata: the standard library writes it, so that `make wheel`
needs nothing but Python. The tag names this machine (linux_x86_64): the library inside needs the
system's OpenBLAS, LAPACKE, jansson, libcyaml, libyaml, SQLite and xxhash, as the Debian package libsqsim0 lists them.
"""
import base64
import hashlib
import os
import sysconfig
import sys
import zipfile

library, version, folder = sys.argv[1:]
tag = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
info = f"sqsim-{version}.dist-info"
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sqsim")
files = {f"sqsim/{name}": os.path.join(here, name) for name in sorted(os.listdir(here)) if name.endswith(".py")}
files["sqsim/libsqsim.so"] = library
machines = os.path.join(here, "..", "..", "sim", "machines")  # where the library looks for "server64"
for name in sorted(os.listdir(machines)):
    if name.endswith(".yaml"):
        files[f"sqsim/share/sqsim/sim/machines/{name}"] = os.path.join(machines, name)
contents = {}
for name, path in files.items():
    with open(path, "rb") as file:
        contents[name] = file.read()
contents[f"{info}/METADATA"] = f"""Metadata-Version: 2.1
Name: sqsim
Version: {version}
Summary: sparse-quantized LLM formats: encode, multiply, time, evaluate
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
""".encode()
contents[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: sqsim\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
record = ""
for name, data in contents.items():
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record += f"{name},sha256={digest},{len(data)}\n"
contents[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()

os.makedirs(folder, exist_ok=True)
target = os.path.join(folder, f"sqsim-{version}-{tag}.whl")
with zipfile.ZipFile(target + ".new", "w", zipfile.ZIP_DEFLATED) as wheel:
    for name, data in contents.items():
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the same sources give the same wheel
        entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
        wheel.writestr(entry, data)
os.replace(target + ".new", target)
print(target)
