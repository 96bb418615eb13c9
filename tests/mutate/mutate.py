#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults in C, and whether the tests of their folder find them (make survivors).

  mutate.py [-n N] [-s SEED] [-j JOBS] [-c REVISION] [-f FAULTS] [-o OUT] [FOLDER or FILE ...]

Draws N faults by SEED, the kinds in turn, from the sources below the named folders (all of rooms.txt), or from the lines
that differ from a git REVISION. A fault that does not compile, or whose object is the same, is none: another is drawn.
Each is linked into the programs of the tests that rooms.txt names for its folder, and these run in a copy of the sources,
in their order, until one fails: not ok, another exit status, or ten times the processor time of the sound program.
With -f the faults are the lines of a file (tab: file, text that stands in it once, what takes its place), all of them.
OUT gets a line for each. Exit 1 if a fault survives that survivors.txt does not explain (tab: file, change, line, reason).
"""
import argparse, collections, concurrent.futures, os, pathlib, random, re, resource, shutil, signal, subprocess, sys, tempfile, threading, time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build"
TOKEN = re.compile(r'''(?P<skip>//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(?<![^\n])[ \t]*\#(?:\\\n|[^\n])*)|(?P<word>[A-Za-z_]\w*)
  |(?P<number>0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[uUlLfF]*)|(?P<sign><<=|>>=|->|\+\+|--|<<|>>|[-+*/%&|^<>=!]=|&&|\|\||[^\s])''', re.S | re.X)
OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+", "*": "+", "/": "*",
         "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "+=": "-=", "-=": "+=", "|=": "&=", "++": "--", "*=": "+="}
# What is freed, asserted or said in an error's sentence is not judged by figures.
UNSEEN = re.compile(r"SQ_FAIL|SQ_TRY|SQ_FREE|assert|\w*free|fclose|close|\w*snprintf|f?printf|sq_\w*refuse|refuse|_Static_assert|__attribute__")
Fault = collections.namedtuple("Fault", "file line kind change text source")


def faults_of(file, lines=None):
    """Every fault of a source, or of the numbered lines of it."""
    source = (ROOT / file).read_text()
    token = [t for t in TOKEN.finditer(source) if t.lastgroup != "skip"]
    text = [t.group() for t in token]
    close, ends, stack, hidden, braces, end = {}, {}, [], [False] * len(text), 0, -1
    for i, t in enumerate(text):
        if t in "([{":
            stack.append(i)
        elif t in ")]}" and stack:
            close[stack.pop()] = i
    for i, t in enumerate(text):  # inside of what is not judged
        if UNSEEN.fullmatch(t) and t != "SQ_TRY" and text[i + 1:i + 2] == ["("]:
            for j in range(i, close.get(i + 1, i)):
                hidden[j] = True
        if t == "SQ_FAIL_IF" and i + 1 in close:  # its condition is judged, its sentence is not
            comma = i + 2
            while text[comma] != ",":
                comma = close.get(comma, comma) + 1
            ends[i] = comma
            for j in [i, *range(comma, close[i + 1])]:
                hidden[j] = True
    def fault(kind, change, first, last, new):
        line = source.count("\n", 0, token[first].start()) + 1
        if (lines is None or line in lines) and not hidden[first]:
            changed = source[:token[first].start()] + new + source[token[last].end():]
            yield Fault(file, line, kind, change, source.split("\n")[line - 1].strip(), changed)
    def span(first, last):
        return source[token[first].start():token[last].end()]
    for i, t in enumerate(text):
        braces += (t == "{") - (t == "}")
        before, group = text[i - 1] if i else ";", token[i].lastgroup
        operand = token[i - 1].lastgroup in ("word", "number") and before not in ("return", "case", "const", "struct") or before in (")", "]") if i else False
        after_type = before in ("char", "int", "unsigned", "float", "double", "void", "long", "short", "bool", "const", "size_t", "FILE") or before.endswith("_t")
        if braces and t in OTHER and (operand or t in ("++",)) and not after_type:
            yield from fault("operator", f"{t} to {OTHER[t]}", i, i, OTHER[t])
        if braces and group == "number" and before != "[":
            number = re.match(r"0[xX][0-9a-fA-F]+|\d+(?![\d.eE])", t)
            if number:
                value, suffix = int(number.group(), 8 if re.fullmatch("0[0-7]+", number.group()) else 0), t[number.end():]
                for other in {value + 1, value - 1 if value else 1}:
                    yield from fault("constant", f"{t} to {other}", i, i, f"{other}{suffix}")
            else:
                yield from fault("constant", f"{t} doubled", i, i, f"(2 * {t})")
        if t == "if" and i + 1 in close:
            yield from fault("condition", "negated", i + 1, close[i + 1], f"(!{span(i + 1, close[i + 1])})")
        if i in ends:
            yield from fault("condition", "negated", i + 2, ends[i] - 1, f"!({span(i + 2, ends[i] - 1)})")
        if braces and t == "?":
            yield from fault("condition", "always false", i, i, "&& 0 ?")
            yield from fault("condition", "always true", i, i, "|| 1 ?")
        if t == "case" and ":" in text[i:i + 6]:
            j = i + text[i:].index(":")
            yield from fault("case", "forgotten", i, j, "")
        if braces and before in ("{", "}", ";", ")", "else", ":") and group == "word" and text[i + 1:i + 2] and (not re.match(r"[A-Za-z_]", text[i + 1])) \
                and t not in ("return", "if", "for", "while", "switch", "else", "do", "case", "default", "goto", "sizeof", "struct", "enum") \
                and not (UNSEEN.fullmatch(t) and t != "SQ_TRY") and not (before == ")" and "for" == text[opening(text, close, i - 1)]):
            j = i
            while j < len(text) and text[j] not in (";", "{"):
                j = close.get(j, j) + 1
            if j < len(text) and text[j] == ";":
                yield from fault("statement", "dropped", i, j, ";")
        if t == "break" and before != ")":
            yield from fault("statement", "break dropped", i, i + 1, ";")
        if braces and group == "word" and text[i + 1:i + 2] == ["("] and i + 1 in close and t not in ("if", "for", "while", "switch", "sizeof", "return", "SQ_FAIL_IF"):
            at, part, j = i + 2, [], i + 2
            while j <= close[i + 1]:
                if text[j] == "," or j == close[i + 1]:
                    part.append((at, j - 1))
                    at = j + 1
                j = (close.get(j, j)) + 1
            for (a, b), (c, d) in zip(part, part[1:]):
                if a <= b and c <= d and span(a, b) != span(c, d):
                    yield from fault("arguments", f"{span(a, b)} and {span(c, d)} swapped".replace("\n", " "), a, d, f"{span(c, d)}, {span(a, b)}")


def opening(text, close, i):
    """The word before the parenthesis that token i closes."""
    for a, b in close.items():
        if b == i and a:
            return a - 1
    return i


def given_faults(path):
    """The faults of a file of lines: file, text, what takes its place."""
    for line in pathlib.Path(path).read_text().split("\n"):
        if line and line[0] != "#":
            file, old, new = line.split("\t")
            source = (ROOT / file).read_text()
            if source.count(old) != 1:
                sys.exit(f"mutate: {path}: {source.count(old)} places in {file} are: {old}")
            yield Fault(file, source.count("\n", 0, source.index(old)) + 1, "given", new, old, source.replace(old, new))


def changed_lines(revision):
    """{file: numbers of lines} that differ from a revision."""
    result, file = {}, None
    for line in subprocess.run(["git", "diff", "-U0", revision, "--", "*.c"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n"):
        if line.startswith("+++ "):
            file = line[6:]
        elif line.startswith("@@"):
            first, _, n = re.search(r"\+(\d+)(,(\d+))?", line).group(1, 2, 3)
            result.setdefault(file, set()).update(range(int(first), int(first) + int(n or 1)))
    return result


def command(target, newer):
    """How make compiles or links a target, its words."""
    subprocess.run(["make", "-s", target], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    said = subprocess.run(["make", "-n", "V=1", "CCACHE=", "-W", newer, target], cwd=ROOT, capture_output=True, text=True).stdout
    lines = [l for l in said.split("\n") if re.search(rf" -o {re.escape(target)}$", l.strip())]
    if not lines:
        sys.exit(f"mutate: make does not say how to build {target}")
    return [w for w in lines[-1].split() if w != "-g" and w != "-Werror" and not w.startswith("-W")]


class Bench:
    """A copy of the sources where mutated programs run; its caches die with each fault."""
    def __init__(self, at):
        self.at = pathlib.Path(at)
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["xargs", "-0", "cp", "-a", "--parents", "-t", at], input=names, cwd=ROOT, check=True)

    def fresh(self):
        shutil.rmtree(self.at / "build", ignore_errors=True)
        shutil.rmtree(self.at / "tmp", ignore_errors=True)
        (self.at / "tmp").mkdir()
        (self.at / "build").mkdir()
        for name in ("tests", "man", "kl_grid"):
            (self.at / "build" / name).symlink_to(BUILD / name)


class Judge:
    def __init__(self, jobs, scratch):
        self.scratch, self.links, self.compiles, self.sound, self.turns, self.lock = pathlib.Path(scratch), {}, {}, {}, {}, threading.Lock()
        self.rooms = [l.split() for l in (HERE / "rooms.txt").read_text().split("\n") if l and l[0] != "#"]
        for name in ("libsqsim.a", "libsqmodels.a"):
            subprocess.run(["objcopy", "-g", BUILD / name, self.scratch / name], check=True)
        self.free = collections.deque(Bench(tempfile.mkdtemp(dir=scratch)) for _ in range(jobs))

    def tests(self, file):
        best = max((r for r in self.rooms if file.startswith(r[0])), key=lambda r: len(r[0]), default=None)
        return best[1:] if best else []

    def compiled(self, file, source, out):
        """The object of a source in place of a file's; None if it is none."""
        with self.lock:
            if file not in self.compiles:
                self.compiles[file] = command(f"build/obj/{file[:-2]}.o", file)
        given = out.with_suffix(".c")
        given.write_text(f'#line 1 "{file}"\n' + source)
        words = [w for w in self.compiles[file] if w not in ("-MMD", "-MP")]
        words[words.index(file)], words[-1] = str(given), str(out)
        if subprocess.run(words + ["-w", "-iquote", str((ROOT / file).parent)], cwd=ROOT, capture_output=True).returncode:
            return None
        return out.read_bytes()

    def linked(self, test, file, object_, bench):
        """The program of a test with an object in place of a file's."""
        target = "build/sqsim" if test.endswith(".t") else f"build/tests/{test}"
        with self.lock:
            if target not in self.links:
                self.links[target] = command(target, "sim/cli/sq_cli.c" if test.endswith(".t") else f"tests/{test}.c")
        own, out, words = f"build/obj/{file[:-2]}.o", bench.at / ("build/sqsim" if test.endswith(".t") else "program"), []
        if test.endswith(".t") and out.exists():
            return out
        for w in self.links[target]:
            words += [str(self.scratch / w[6:])] if w in ("build/libsqsim.a", "build/libsqmodels.a") else [] if w == own else [w]
        words[-1] = str(out)
        at = next(i for i, w in enumerate(words) if w.endswith((".o", ".a")))
        subprocess.run(words[:at] + ["-fuse-ld=gold", str(object_)] + words[at:], cwd=ROOT, check=True, capture_output=True)
        return out

    def failed(self, test, file, object_, bench, limit):
        """Whether a test fails, and the seconds of the processor that it took."""
        program = self.linked(test, file, object_, bench)
        env = dict(os.environ, SQSIM=str(bench.at / "build/sqsim"), SQSIM_HOME=str(bench.at), TMPDIR=str(bench.at / "tmp"), SQ_TIER="test", FIGURES_TOOLS="",
                   OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        words = ["bash", f"tests/{test}"] if test.endswith(".t") else [str(program)]
        def bounds():
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        with open(bench.at / "tmp" / "said", "w") as said:
            run = subprocess.Popen(words, cwd=bench.at, env=env, stdout=subprocess.PIPE, stderr=said, text=True, errors="replace", preexec_fn=bounds)
            clock = threading.Timer(20 * limit, lambda: os.killpg(run.pid, signal.SIGKILL))
            clock.start()
            bad = False
            for line in run.stdout:
                if line.startswith(("not ok", "Bail out")):
                    bad = True
                    os.killpg(run.pid, signal.SIGKILL)
                    break
            run.stdout.close()
            _, status, used = os.wait4(run.pid, 0)
            run.returncode = status
            clock.cancel()
        return bad or status != 0, used.ru_utime + used.ru_stime

    def seconds(self, test, file, bench):
        """What a test takes with the sound object, measured once; a test that fails by itself ends everything."""
        with self.lock:
            turn = self.turns.setdefault(test, threading.Lock())
        with turn:
            if test not in self.sound:
                object_ = bench.at / "tmp" / "sound.o"
                (bench.at / "build/sqsim").unlink(missing_ok=True)
                bad, self.sound[test] = self.failed(test, file, object_, bench, 900)
                if bad:
                    raise SystemExit(f"mutate: {test} fails with the sources as they are")
                (bench.at / "build/sqsim").unlink(missing_ok=True)
        return self.sound[test]

    def judge(self, fault):
        """None: no fault; otherwise the test that finds it, or '' if it survives."""
        with self.lock:
            bench = self.free.popleft()
        try:
            bench.fresh()
            object_ = bench.at / "tmp" / "mutant.o"
            mine = self.compiled(fault.file, fault.source, object_)
            if mine is None or mine == self.compiled(fault.file, (ROOT / fault.file).read_text(), bench.at / "tmp" / "sound.o"):
                return None
            for test in self.tests(fault.file):
                if self.failed(test, fault.file, object_, bench, int(10 * self.seconds(test, fault.file, bench)) + 20)[0]:
                    return test
            return ""
        finally:
            with self.lock:
                self.free.append(bench)


def main():
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for flag, kind, default in (("n", int, 200), ("s", int, 1), ("j", int, 2), ("c", str, ""), ("f", str, ""), ("o", str, str(BUILD / "survivors"))):
        ask.add_argument(f"-{flag}", type=kind, default=default)
    ask.add_argument("folder", nargs="*")
    a = ask.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        judge = Judge(a.j, scratch)
        lines = changed_lines(a.c) if a.c else None
        wanted = a.folder or [r[0] for r in judge.rooms]
        files = sorted(f for f in subprocess.run(["git", "ls-files", "*.c"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
                       if judge.tests(f) and (lines is None or f in lines) and any(f == w or f.startswith(w.rstrip("/") + "/") for w in wanted))
        kinds, order = collections.defaultdict(list), random.Random(a.s)
        for file in [] if a.f else files:
            for fault in faults_of(file, lines and lines[file]):
                kinds[fault.kind].append(fault)
        for drawn in kinds.values():
            order.shuffle(drawn)
        queue = [f for row in __import__("itertools").zip_longest(*(kinds[k] for k in sorted(kinds))) for f in row if f]
        if a.f:
            queue = list(given_faults(a.f))
            a.n = len(queue)
        known = {tuple(l.split("\t")[:3]) for l in (HERE / "survivors.txt").read_text().split("\n") if l and l[0] != "#"}
        counts, new = collections.defaultdict(lambda: [0, 0, 0]), 0
        out = open(a.o, "w")
        with concurrent.futures.ThreadPoolExecutor(a.j) as pool:
            at, done = 0, 0
            while done < a.n and at < len(queue):
                batch = queue[at:at + min(a.j * 2, a.n - done)]
                at += len(batch)
                for fault, found in zip(batch, pool.map(judge.judge, batch)):
                    if found is None:
                        continue
                    done += 1
                    told = (fault.file, fault.change, fault.text) in known
                    room = max((r[0] for r in judge.rooms if fault.file.startswith(r[0])), key=len)
                    counts[room][0 if found else 1 if told else 2] += 1
                    new += not found and not told
                    print("\t".join((f"found by {found}" if found else "explained" if told else "SURVIVES", f"{fault.file}:{fault.line}", fault.change, fault.text)), file=out, flush=True)
                    if not found and not told:
                        print(f"survives: {fault.file}:{fault.line}: {fault.change}: {fault.text}", flush=True)
        for room, (found, told, open_) in sorted(counts.items()):
            print(f"{room}: {found + told + open_} faults, {found} found, {told} explained, {open_} survive")
    sys.exit(new > 0)


main()
