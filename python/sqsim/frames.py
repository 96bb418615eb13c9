# SPDX-License-Identifier: Apache-2.0
"""Results as rows, and as pandas frames where pandas is installed."""
import json
import os

from . import _library as _lib


def flatten(row, prefix=""):
    """{"causes": {"low": {"busy": 1}}} as {"causes.low.busy": 1}; lists stay."""
    flat = {}
    for key, value in row.items():
        if isinstance(value, dict):
            flat.update(flatten(value, prefix + key + "."))
        else:
            flat[prefix + key] = value
    return flat


def read_json(text_or_path):
    """What a command printed with --json: (rows, summary), rows flat, summary None without one."""
    text = text_or_path
    if isinstance(text, os.PathLike) or "\n" not in text and not text.lstrip().startswith("{"):
        with open(text_or_path, encoding="utf-8") as file:
            text = file.read()
    objects = [json.loads(line) for line in text.splitlines() if line.strip()]
    rows = [flatten(o) for o in objects if not o.get("summary")]
    return rows, next((o for o in objects if o.get("summary")), None)


def read_sweep(db, sweep=None):
    """Points of a sweep database as rows: parameters, then measures. sweep: one of its sweeps; may
    be left out where there is only one. Rows are checked against their digests: a damaged one raises
    sqsim.Error."""
    points = _lib.points(_lib.points_read(_lib.path(db, "db")))
    names = sorted({name for name, _, _ in points})
    if sweep is None and len(names) != 1:
        raise ValueError(f"sweep = None, need one of {', '.join(names) or 'none: the database is empty'}")
    if sweep is not None and sweep not in names:
        raise ValueError(f"sweep = {sweep}, need one of {', '.join(names)}")
    return [{**flatten(json.loads(parameters)), **flatten(json.loads(measures))}
            for name, parameters, measures in points if name == (sweep or names[0])]


def frame(source, sweep=None):
    """A pandas frame of rows, of a sweep database (.db), or of --json lines (text or a file)."""
    try:
        import pandas
    except ImportError as missing:
        raise ImportError("sqsim.frame needs pandas: pip install 'sqsim[pandas]'; "
                          "read_sweep and read_json give the same rows without it") from missing

    if isinstance(source, list):
        return pandas.DataFrame(source)
    with_database = not isinstance(source, str) or "\n" not in source
    if with_database and os.path.exists(source):
        with open(source, "rb") as file:
            if file.read(16) == b"SQLite format 3\0":
                return pandas.DataFrame(read_sweep(source, sweep))
    return pandas.DataFrame(read_json(source)[0])
