#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Searches a design space with Optuna, in place of trying each point of it.

search.py SPEC --maximize MEASURE --minimize MEASURE [--constraint 'area_mm2 <= 50']... [--trials N] [--sampler tpe|nsga2]
          [--seed S] [--storage URL] [--sqsim PROGRAM] [--liberty FILE] [--sram-area DIR] [--energy FILE]

SPEC is a specification of `sqsim sweep`; its constraints count, too. An axis may stand in place of a measure. One process of `sqsim point` computes the designs.
With --storage, such as sqlite:///search.db, a search that was stopped goes on with the same command. Prints a line of JSON for
each design of the front, then a summary. Needs the packages optuna and, for SPEC, PyYAML, which optuna brings.
"""
import argparse
import json
import operator
import re
import subprocess
import sys

OPERATORS = {"<=": operator.sub, "<": operator.sub, ">=": lambda a, b: b - a, ">": lambda a, b: b - a}


def dump(row):
    """As sqsim writes it."""
    return json.dumps(row, separators=(",", ":"))


def expand(entry):
    """Values of an entry of an axis: A..B, A..B+STEP and A..B*FACTOR are ranges."""
    found = re.fullmatch(r"([\d.]+?)\.\.([\d.]+?)(?:([+*])([\d.]+))?", str(entry))
    if not found:
        return [entry]
    first, last = float(found[1]), float(found[2])
    step = float(found[4] or 1)
    values = []
    while first <= last:
        values.append(int(first) if first == int(first) else first)
        first = first * step if found[3] == "*" else first + step
    return values


def read_space(path):
    import yaml

    with open(path, encoding="utf-8") as file:
        spec = yaml.safe_load(file)
    axes = {name: [v for entry in values for v in expand(entry)] for name, values in spec["axes"].items()}
    return axes, spec.get("constraints", []), spec.get("measures", [])


class Designs:
    """Measures of designs, each computed once, by a program that stays."""

    def __init__(self, sqsim, prices, measures):
        self.run = subprocess.Popen([sqsim, "point", "--json", *prices], text=True, stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE)
        self.measures, self.known, self.refused = measures, {}, None

    def of(self, design):
        key = json.dumps(design, sort_keys=True)
        if key not in self.known:
            self.run.stdin.write(json.dumps({**design, "measures": self.measures}) + "\n")
            self.run.stdin.flush()
            line = self.run.stdout.readline()
            if not line:
                sys.exit("search: sqsim point ended")
            self.known[key] = json.loads(line)
            self.refused = self.known[key].get("error", self.refused)
        return self.known[key]

    def close(self):
        self.run.stdin.close()
        self.run.wait()


def violation(text, row):
    """By how much a row misses 'area_mm2 <= 50': at most 0 where it holds."""
    found = re.fullmatch(r"\s*(\w+)\s*(<=|>=|<|>)\s*([\d.eE+-]+)\s*", text)
    if not found:
        sys.exit(f"search: constraint '{text}', need MEASURE <= NUMBER, or one of >= < >")
    value = row[found[1]]
    return float("inf") if value is None else OPERATORS[found[2]](value, float(found[3]))


def is_of_axes(text, axes):
    """Whether a constraint of the specification is one that holds before anything is computed."""
    return all(word in axes for word in re.findall(r"[a-z_]\w*", text))


def holds(text, design):
    """A constraint of the specification in its own words: a term, an operator, a term."""
    left, op, right = re.split(r"\s*(<=|>=|==|!=|<|>)\s*", text)
    value = lambda term: eval_term(term, design)  # noqa: E731
    compare = {"<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "<": operator.lt,
               ">": operator.gt}[op]
    return compare(value(left), value(right))


def eval_term(term, design):
    parts = re.split(r"\s*([*/])\s*", term.strip())
    values = [design.get(p, float(p) if re.fullmatch(r"[\d.]+", p) else p) for p in parts[::2]]
    for sign, value in zip(parts[1::2], values[1:]):
        values[0] = values[0] * value if sign == "*" else values[0] / value
    return values[0]


def search(in_):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    axes, constraints, _ = read_space(in_.spec)
    if "machine" in axes and len(axes.get("format", [])) > 1:
        axes.setdefault("fair", ["area"])  # several formats are of equal silicon, as in a sweep
    named = [("maximize", m) for m in in_.maximize] + [("minimize", m) for m in in_.minimize]
    limits = in_.constraint
    extra = [re.match(r"\s*(\w+)", text)[1] for text in limits]
    asked = [m for m in dict.fromkeys([m for _, m in named] + extra) if m not in axes]
    prices = [("--liberty", in_.liberty), ("--sram-area", in_.sram_area), ("--energy", in_.energy)]
    designs = Designs(in_.sqsim, [word for price in prices if price[1] for word in price], asked)
    clocks = set()

    def objective(trial):
        design = {name: values[trial.suggest_int(name, 0, len(values) - 1)] if len(values) > 1 else values[0]
                  for name, values in axes.items()}
        if not all(holds(text, design) for text in constraints if is_of_axes(text, axes)):
            raise optuna.TrialPruned()
        row = designs.of(design)
        if "error" in row or any(row[m] is None for _, m in named):
            raise optuna.TrialPruned()
        trial.set_user_attr("design", design)
        clocks.update(re.findall(r"clock: ([^;]*)", row.get("notes") or ""))
        missed = [violation(text, row) for text in limits]
        trial.set_user_attr("violation", missed)
        if hasattr(trial, "set_constraint"):  # Optuna 5
            for text, value in zip(limits, missed):
                trial.set_constraint(text, value)
        return [row[m] for _, m in named]

    options = {"seed": in_.seed}
    if limits and not hasattr(optuna.Trial, "set_constraint"):
        options["constraints_func"] = lambda trial: trial.user_attrs.get("violation", [1.0] * len(limits))
    sampler = (optuna.samplers.NSGAIISampler(**options) if in_.sampler == "nsga2"
               else optuna.samplers.TPESampler(**options))
    study = optuna.create_study(study_name="sqsim", storage=in_.storage, load_if_exists=True, sampler=sampler,
                                directions=[d for d, _ in named])
    study.optimize(objective, n_trials=max(0, in_.trials - len(study.trials)))
    designs.close()
    seen, done = set(), [t for t in study.trials if t.state == optuna.trial.TrialState.COMPLETE]
    if not done:
        sys.exit(f"search: no design has these measures; the last refusal: {designs.refused}")
    for trial in study.best_trials:
        line = dump({**trial.user_attrs["design"], **dict(zip((m for _, m in named), trial.values))})
        if line not in seen and all(v <= 0 for v in trial.user_attrs["violation"]):
            seen.add(line)
            print(line)
    print(dump({"summary": True, "trials": len(study.trials), "designs": len(done), "computed": len(designs.known), "front": len(seen),
                "clock": sorted(clocks)}))


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("spec", metavar="SPEC")
    words.add_argument("--maximize", action="append", default=[], metavar="MEASURE")
    words.add_argument("--minimize", action="append", default=[], metavar="MEASURE")
    words.add_argument("--constraint", action="append", default=[], metavar="'MEASURE <= NUMBER'")
    words.add_argument("--trials", type=int, default=200, help="of all runs of the same storage together")
    words.add_argument("--sampler", choices=["tpe", "nsga2"], default="tpe")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--storage", help="such as sqlite:///search.db; without it nothing is kept")
    words.add_argument("--sqsim", default="sqsim", help="the program")
    words.add_argument("--liberty", help="standard cells")
    words.add_argument("--sram-area", help="of area_mm2: a folder with memories")
    words.add_argument("--energy", help="of energy_per_token: joules a MAC")
    in_ = words.parse_args()
    if not in_.maximize + in_.minimize:
        words.error("need --maximize or --minimize with a measure")
    try:
        import optuna  # noqa: F401
    except ImportError:
        sys.exit("search: the Python package optuna is not installed: pip install optuna")
    search(in_)


if __name__ == "__main__":
    main()
