#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the papers claim beside what their commands print here: papers.py SQSIM REVISION FOLDER [PAPER [ITEM]] (make papers).

Reads items.txt, whose head says its form. The output of a command stays in FOLDER/REVISION, so that a run that was
stopped goes on; PAPERS_SECONDS ends one. Prints every item, or ITEM; writes reports/papers/PAPER.md, a row an item with the revision that printed it,
and the counts in README.md, but not of one ITEM. A row that is not run again stays as the page has it. Exit status 1 where a command failed. SQSIM = check: reads items.txt and runs nothing.
papers.py pictures FOLDER: draws FOLDER/PAPER.svg from the figures in the rows of the pages, runs nothing else, and prints the points as CSV.
"""
import hashlib, json, os, re, subprocess, sys, time

HERE = os.path.dirname(os.path.realpath(__file__))
END = time.monotonic() + float(os.environ.get("PAPERS_SECONDS") or "inf")  # then no command begins
OURS = "Ours: "  # begins the title of a table that counts for no paper
RULE = r"([a-z ]+?) if (.+?) else ([a-z ]+): (.*)"
VERDICTS = ("holds", "part", "no", "open", "not here")


class Row(dict):
    __getattr__ = dict.__getitem__


class Output:
    """Lines of JSON, or of CSV under a header, as rows; a key of the output is one of its last row."""
    def __init__(self, text):
        self.text, lines = text, text.splitlines()
        if text.startswith("{"):
            self.rows = [json.loads(line, object_hook=Row) for line in lines if line.startswith("{")]
        else:
            cells = [line.split(",") for line in lines]
            self.rows = [Row(zip(cells[0], c)) for c in cells[1:] if len(c) == len(cells[0])]
    def __getattr__(self, key):
        return self.rows[-1][key]
    def __getitem__(self, i):
        """Row number i, or the first in which a key has the value i."""
        return self.rows[i] if isinstance(i, int) else next(row for row in self.rows if i in row.values())
    def cell(self, i):
        """Cell i of a row of a table in Markdown."""
        return self.text.split(" | ")[i]


def kl(row):
    """A KL with its 95 % interval, of a summary of eval or a row of kl_grid; of an output, of its last row."""
    row = row.rows[-1] if isinstance(row, Output) else row
    low, high = row["kl_mean_95"] if "kl_mean" in row else (float(row["kl_low"]), float(row["kl_high"]))
    return f"{float(row.get('kl_mean', row.get('kl'))):.3g} [{low:.3g}, {high:.3g}]"


def ratio(row):
    """KL of a summary over that of the first one of its command, paired."""
    return f"{row['kl_ratio']:.3g} [{row['kl_ratio_95'][0]:.3g}, {row['kl_ratio_95'][1]:.3g}]"


def paired(line):
    """The ratio of a verdict of kl_table, without the claim."""
    return line.cell(3).split(", claimed")[0]


def read(path):
    """Items in the order of the file: dictionaries of paper, name, level, claim, theirs, commands, ours, verdict, panels."""
    papers, items = {}, []
    for number, line in enumerate(open(path), 1):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            name, papers[name] = re.fullmatch(r"\[(\w+)\] (.+)", line).groups()
        elif not line.startswith(" "):
            item = dict(zip(("name", "level", "claim", "theirs"), line.split(" | ")), paper=name, line=number, commands=[], ours="-", panels=[])
            items.append(item)
        elif line.startswith("  $ "):
            item["commands"].append(line[4:])
        elif line[:4] in ("  = ", "  ? "):
            item["ours" if line[2] == "=" else "verdict"] = line[4:]
        elif line.startswith("  ~ "):
            item["panels"].append(line[4:].split(" | "))
        else:
            sys.exit(f"items.txt:{number}: '{line[:40]}', need a paper, an item, $, =, ? or ~")
    for item in items:
        word = item.get("verdict", "").split(":")[0].split(" if ")[0]
        if word not in VERDICTS or len(item["theirs"]) == 0 or item["level"] not in "ABCD":
            sys.exit(f"items.txt:{item['line']}: {item['name']}: needs a class of A to D, and a verdict of {', '.join(VERDICTS)}")
        if not item["commands"] and word not in ("open", "not here"):
            sys.exit(f"items.txt:{item['line']}: {item['name']}: '{word}' needs a command")
    return papers, items


def output(command, folder):
    path = f"{folder}/{hashlib.sha256(command.encode()).hexdigest()[:16]}"
    if not os.path.exists(path):
        if time.monotonic() > END:
            raise TimeoutError
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
        if done.returncode:
            raise ValueError(f"{command}: {(done.stderr.splitlines() or ['failed'])[-1]}")
        with open(f"{path}.{os.getpid()}", "w") as f:
            f.write(done.stdout)
        os.rename(f.name, path)
    return Output(open(path).read())


def fill(text, values):
    return eval('f"""' + text + '"""', {"kl": kl, "ratio": ratio, "paired": paired, **values})


def judge(item, folder):
    """What is here, and the verdict."""
    values = {chr(ord("a") + i): output(command, folder) for i, command in enumerate(item["commands"])}
    rule = re.fullmatch(RULE, item["verdict"])
    text = item["verdict"]
    if rule:
        text = f"{rule[1] if eval(rule[2], values.copy()) else rule[3]}: {rule[4]}"
    return fill(item["ours"], values), fill(text, values)


def cell(text):
    return text.replace("|", "\\|")


def cells(item):
    """The cells of a row before ours and after the verdict."""
    commands = "<br>".join(f"`{cell(c)}`" for c in item["commands"]) or "-"
    return f"| {item['name']} | {item['level']} | {cell(item['claim'])} | {cell(item['theirs'])} | ", f" | {commands} | "


def kept(name, item):
    """Ours, verdict and revision of that row of the page, if it had these commands; the reason as items.txt has it now."""
    first, last = cells(item)
    for line in open(f"{HERE}/{name}.md") if os.path.exists(f"{HERE}/{name}.md") else []:
        if line.startswith(f"| {item['name']} | ") and last in line and " | - | open: " not in line:
            ours, verdict = line[:line.index(last)].split(" | ")[-2:]
            rule = re.fullmatch(RULE, item["verdict"])
            word, reason = (verdict.split(":")[0], rule[4]) if rule else item["verdict"].split(": ", 1)
            verdict = verdict.replace("\\|", "|") if "{" in reason else f"{word}: {reason}"
            return ours.replace("\\|", "|"), verdict, line[line.index(last) + len(last):-3]
    return "-", "open: not run yet, make papers goes on with it", "-"


VALUE = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
FIGURE = rf"({VALUE})(?: \[({VALUE}), ({VALUE})\]| to ({VALUE}))?"
# Theirs and ours: colours and points of the curves, the dash of lines.
STYLE = {"theirs": ("#8c4a00 #d98a2b #c9b27c #5e4b2a".split(), (6, 4, 8, 12), 2), "ours": ("#1f4e9c #4fa3d1 #2b8c6b #7a5fb0".split(), (7, 5, 9, 13), 1)}


def points(items, name):
    """The panels of a paper, each with curves: whose, name, points of x, y, low, high, from the cells of the page."""
    rows = [re.split(r"(?<!\\) \| ", line[2:]) for line in open(f"{HERE}/{name}.md") if line.startswith("| ")]
    rows, panels = {row[0]: {"theirs": row[3], "ours": row[4]} for row in rows}, []
    for item, panel in ((i, p) for i in items if i["paper"] == name and rows[i["name"]]["ours"] != "-" for p in i["panels"]):
        panels.append((panel[:3], []))
        for curve in panel[3:]:
            title, x, whose, behind = re.fullmatch(r"(.+?) @ (.+?) = (theirs|ours) ?(.*)", curve).groups()
            text, x = rows[item["name"]][whose].partition(behind)[2] if behind else rows[item["name"]][whose], x.split()
            found = re.match(rf" *{FIGURE}(?:, {FIGURE}){{{len(x) - 1}}}(?![\w.])", text)
            if not found:
                sys.exit(f"papers: {item['name']}: {whose} has no {len(x)} figures behind '{behind}': '{text[:60]}'")
            ys = [[float(v or "nan") for v in y] for y in re.findall(FIGURE, found[0])]
            # "1.51 to 1.78" is its middle between its ends.
            panels[-1][1].append((whose, title, [(a, *((y, low, high) if to != to else ((y + to) / 2, y, to))) for a, (y, low, high, to) in zip(x, ys)]))
    return panels


def draw(name, panels, folder):
    """FOLDER/NAME.svg, a panel beside the other; x that are words stand in their order."""
    across = min(3, len(panels))
    down = -(-len(panels) // across)
    say = [f"set terminal svg size {across * 400},{down * 330} font 'sans,11' background '#ffffff'; set output '{folder}/{name}.svg'; set grid",
           f"set multiplot layout {down},{across}; set bmargin 7; set key at graph .5, graph -.23 center top vertical maxrows 3 samplen 2; set errorbars small"]
    for n, ((title, xlabel, ylabel), curves) in enumerate(panels):
        words = [x for _, _, at in curves for x, *_ in at if not re.fullmatch(VALUE, x)]
        words = list(dict.fromkeys(x for _, _, at in curves for x, *_ in at)) if words else []
        say.append(f'set autoscale; unset logscale; set offsets graph .04, graph .04{", graph .06" if "(log)" not in ylabel else ""}; set title "{title}"; set ylabel "{ylabel}"; set xlabel "{xlabel if xlabel != "-" else ""}"')
        say.append("set logscale x 2" if "(log)" in xlabel else "")
        say.append("set logscale y" if "(log)" in ylabel else "" if re.search("perplexity|KL", ylabel) else "set yrange [0:*]")
        say.append(f"set xrange [-.5:{len(words) - .5}]; set xtics (" + ", ".join(f'"{w}" {i}' for i, w in enumerate(words)) + ")" if words else "set xtics autofreq")
        plots = []
        for i, (whose, curve, at) in enumerate(curves):
            bars = any(low == low for *_, low, _ in at)
            colours, marks, dash = STYLE[whose]
            nth = sum(c[0] == whose for c in curves[:i])
            say += [f"$p{n}_{i} << END"] + [f"{words.index(x) if words else x} {y} {y if low != low else low} {y if high != high else high}" for x, y, low, high in at] + ["END"]
            how = ("yerrorbars" if words else "yerrorlines") if bars else "points" if words else "linespoints"
            plots.append(f'$p{n}_{i} using 1:2{":3:4" if bars else ""} with {how} lc rgb "{colours[nth]}" pt {marks[nth]} ps .7{"" if words else f" dt {dash}"} title "{whose}: {curve}"')
        say.append("plot " + ", ".join(plots))
    subprocess.run(["gnuplot"], input="\n".join(say + ["unset multiplot", ""]), text=True, check=True)
    subprocess.run([f"{HERE}/../svg.sh", f"{folder}/{name}.svg"], check=True)


def pictures(papers, items, folder):
    """Every picture, and its points as CSV."""
    print("paper,panel,curve,x,y,low,high")
    for name in papers:
        panels = points(items, name)
        for (title, *_), curves in panels:
            for whose, curve, at in curves:
                for point in at:
                    print(f'{name},"{title}","{whose}: {curve}",' + ",".join(map(str, point)).replace("nan", ""))
        if panels:
            draw(name, panels, folder)


def page(name, title, rows, revision):
    title, *caption = title.split(" | ")
    with open(f"{HERE}/{name}.md.new", "w") as f:
        f.write(f"<!-- make papers R={name}; revision {revision} -->\n# {title}\n\n[How to read it](README.md)\n\n")
        f.write("".join(f"![its pictures, theirs and ours]({name}.svg)\n\n{c}\n\n" for c in caption))
        f.write("| item | class | claim | theirs | ours | verdict | command | revision |\n|---|---|---|---|---|---|---|---|\n")
        for item, ours, verdict, of in rows:
            first, last = cells(item)
            f.write(f"{first}{cell(ours)} | {cell(verdict)}{last}{of} |\n")
    os.rename(f"{HERE}/{name}.md.new", f"{HERE}/{name}.md")


def counts(papers):
    """The table of README.md, counted in the pages."""
    total, lines = [0] * (2 + len(VERDICTS)), []
    for name, title in papers.items():
        if title.startswith(OURS):
            continue
        rows = [line.split(" | ") for line in open(f"{HERE}/{name}.md") if line.startswith("| ")][1:]
        n = [len(rows), sum(r[4] != "-" for r in rows)] + [sum(r[5].startswith(v + ":") for r in rows) for v in VERDICTS]
        total = [a + b for a, b in zip(total, n)]
        lines.append(f"| [{title.split(' | ')[0]}]({name}.md) | {' | '.join(map(str, n))} |")
    lines.append(f"| all | {' | '.join(map(str, total))} |")
    text = open(f"{HERE}/README.md").read()
    table = "| paper | items | with a figure | " + " | ".join(VERDICTS) + " |\n|---|" + "---|" * len(total) + "\n" + "\n".join(lines)
    with open(f"{HERE}/README.md", "w") as f:
        f.write(re.sub(r"(<!-- table: papers -->\n).*?(<!-- end -->)", lambda m: m[1] + table + "\n" + m[2], text, flags=re.S))


def main():
    papers, items = read(f"{HERE}/items.txt")
    if sys.argv[1] == "check":
        return print(f"{sum(not papers[i['paper']].startswith(OURS) for i in items)} items") or 0
    if sys.argv[1] == "pictures":
        return pictures(papers, items, sys.argv[2])
    sqsim, revision, folder, wanted, only = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:5], sys.argv[5:]
    if wanted and wanted[0] not in papers:
        print(f"papers: R = {wanted[0]}, need one of {', '.join(papers)}", file=sys.stderr)
        return 2
    folder = f"{folder}/{revision}"
    os.makedirs(folder, exist_ok=True)
    os.environ["PATH"] = f"{os.path.dirname(os.path.realpath(sqsim))}:{os.environ['PATH']}"
    os.chdir(f"{HERE}/../..")
    os.environ["SQSIM_HOME"] = os.getcwd()
    failed = 0
    for name in wanted or papers:
        rows = []
        for item in (i for i in items if i["paper"] == name and only in ([], [i["name"]])):
            of = revision if item["commands"] else "-"
            try:
                ours, verdict = judge(item, folder)
            except TimeoutError:
                ours, verdict, of = kept(name, item)
            except (ValueError, KeyError, IndexError, StopIteration, TypeError, AttributeError) as why:
                ours, verdict, failed = "-", f"open: failed: {why!r:.200}", failed + 1
            rows.append((item, ours, verdict, of))
            print(f"{name} | {item['name']} | theirs {item['theirs']} | ours {ours} | {verdict}", flush=True)
        if not only:
            page(name, papers[name], rows, revision)
    if not only and all(os.path.exists(f"{HERE}/{name}.md") for name in papers):
        counts(papers)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
