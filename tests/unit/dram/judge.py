# SPDX-License-Identifier: Apache-2.0
"""Judges the commands that `sqsim run --commands` has written, of a whole layer, by a list of constraints of the standards.

judge.py DEVICE.yaml TRACE.csv all|bank|none [READS WRITES]    bursts that must have been read and written

It was written from the device's file, from sim/dram/README.md and from what sq_dram_device.h says of each timing, without sim/dram/*.c and
without oracle_dram.h. Of a device with ranges it takes the fast end. The first complaints go to standard output; status 1.
"""
import csv
import math
import re
import sys
from collections import defaultdict
from fractions import Fraction

READ, WRITE = {"RD", "RDA"}, {"WR", "WRA"}
COLUMN, CLOSE = READ | WRITE, {"PRE", "PREA"}
OPENS = {"ACT", "REFB"}


def device_of(path):
    """Keys and their numbers: shapes, and timings in whole clocks."""
    values = {}
    for line in open(path):
        found = re.match(r"\s*- \{key: (\w+), value: ([^,]+), source", line)
        if found:
            values[found[1]] = found[2].strip()
    clock = Fraction(values.pop("clock").split()[0])  # ps
    d = {}
    for key, text in values.items():
        number, _, unit = text.partition(" ")
        if unit in ("pJ", "mW"):
            continue
        ends = [Fraction(x) for x in number.split("..")]
        end = max(ends) if key in ("REFI", "REFIpb") else min(ends)
        scale = {"": 1, "ps": 1 / clock, "ns": 1000 / clock}[unit]
        d[key] = math.ceil(end * scale)
    usual = {"DQSCK": 0, "DQSS": 0, "RCDWR": "RCDRD", "RPab": "RP", "WTRL": "WTRS", "RRDL": "RRDS", "CCDL": "CCDS",
             "CCDSW": "CCDS", "CCDLW": "CCDL", "RTRS": 0, "PPD": 0, "REFIpb": 0, "RFCpb": 0, "RREFD": "RRDS", "PBR": "RFCpb"}
    for key, other in usual.items():
        d.setdefault(key, other if other == 0 else d[other])
    return d


def constraints_of(d):
    """(earlier commands, later ones, where both are, clocks from the last clock of one to that of the other)."""
    beats = -(-d["burst"] // d["beats"])
    written = d["CWL"] + d["DQSS"] + beats
    any_open = OPENS | {"REFA"}
    return [
        ({"ACT"}, READ, "bank", d["RCDRD"]), ({"ACT"}, WRITE, "bank", d["RCDWR"]),
        ({"ACT"}, {"PRE"}, "bank", d["RAS"]), ({"ACT"}, {"PREA"}, "rank", d["RAS"]),
        ({"ACT"}, OPENS, "bank", d["RC"]), ({"ACT"}, {"REFA"}, "rank", d["RC"]),
        ({"PRE"}, OPENS, "bank", d["RP"]), ({"PRE"}, {"REFA"}, "rank", d["RP"]), ({"PREA"}, any_open, "rank", d["RPab"]),
        (READ, {"PRE"}, "bank", d["RTP"]), (READ, {"PREA"}, "rank", d["RTP"]),
        (WRITE, {"PRE"}, "bank", written + d["WR"]), (WRITE, {"PREA"}, "rank", written + d["WR"]),
        (OPENS, OPENS, "rank", d["RRDS"]), (OPENS, OPENS, "group", d["RRDL"]),
        (CLOSE, CLOSE, "rank", d["PPD"]),
        (READ, READ, "rank", d["CCDS"]), (READ, READ, "group", d["CCDL"]),
        (WRITE, WRITE, "rank", d["CCDSW"]), (WRITE, WRITE, "group", d["CCDLW"]),
        (READ, WRITE, "rank", d["RTW"]),
        (WRITE, READ, "rank", written + d["WTRS"]), (WRITE, READ, "group", written + d["WTRL"]),
        ({"REFA"}, any_open, "rank", d["RFC"]),
        ({"REFB"}, OPENS, "bank", d["RFCpb"]), ({"REFB"}, {"REFA"}, "rank", d["RFCpb"]),
        ({"REFB"}, {"ACT"}, "rank", d["RREFD"]), ({"REFB"}, {"REFB"}, "rank", d["PBR"]),
    ]


class Channel:
    def __init__(self, d, refresh, complain):
        self.d, self.refresh, self.complain = d, refresh, complain
        self.before = defaultdict(list)  # by a later command
        for earlier, later, where, clocks in constraints_of(d):
            for command in later:
                self.before[command] += [(e, where, clocks) for e in earlier]
        self.last = {}  # (place, command): its last clock
        self.row, self.opened, self.closed = {}, {}, {}  # of a bank: open row, its activate, when a precharge of itself is over
        self.bus_free, self.data = defaultdict(int), {}
        self.window, self.refreshes, self.round = defaultdict(list), defaultdict(list), defaultdict(set)

    def judge(self, at, command, bank, row):
        d = self.d
        length = d["act"] if command == "ACT" else d["pre"] if command in CLOSE else d["col"] if command in COLUMN else d["ref"]
        last, group, rank = at + length - 1, bank // d["banks"], bank // d["banks"] // d["groups"]
        place = {"bank": ("bank", bank), "group": ("group", group), "rank": ("rank", rank)}
        of_rank = range(rank * d["banks"] * d["groups"], (rank + 1) * d["banks"] * d["groups"])
        say = lambda why: self.complain(f"{command} of bank {bank} at {at}: {why}")

        bus = "columns" if d["buses"] == 2 and command in COLUMN else "all"
        if at < self.bus_free[bus]:
            say("two commands on the bus")
        self.bus_free[bus] = last + 1
        for earlier, where, clocks in self.before[command]:
            was = self.last.get((place[where], earlier))
            if was is not None and last < was + clocks:
                say(f"{earlier} of the {where} ended at {was}, needs {clocks} clocks")
        if command in OPENS | {"REFA"}:
            for b in of_rank if command == "REFA" else [bank]:
                if last < self.closed.get(b, 0):
                    say(f"bank {b} precharges itself until {self.closed[b]}")
                if b in self.row:
                    say(f"bank {b} is open")
        if command in OPENS:
            window = self.window[rank]
            if len(window) == 4 and last < window[0] + d["FAW"]:
                say("five activates in the window")
            self.window[rank] = (window + [last])[-4:]
        if command in COLUMN:
            self.judge_data(say, last, command, bank, row, rank)
        if command in ("REFA", "REFB"):
            self.refreshes[rank].append(at)
        if command == "REFB":
            if bank in self.round[rank]:
                say("twice in a round")
            self.round[rank].add(bank)
            if len(self.round[rank]) == len(of_rank):
                self.round[rank].clear()
        if command == "ACT":
            self.row[bank], self.opened[bank] = row, last
        for b in of_rank if command == "PREA" else [bank] if command == "PRE" else []:
            self.row.pop(b, None)
        for p in place.values():
            self.last[p, command] = last

    def judge_data(self, say, last, command, bank, row, rank):
        d = self.d
        beats = -(-d["burst"] // d["beats"])
        first = last + (d["CL"] + d["DQSCK"] if command in READ else d["CWL"] + d["DQSS"])
        if self.row.get(bank) != row:
            say(f"needs row {row}, has {self.row.get(bank)}")
        pseudo = rank // d["ranks"]
        if pseudo in self.data:
            end, of = self.data[pseudo]
            if first < end + (d["RTRS"] if of != rank else 0):
                say(f"beats from {first}, those before end at {end}")
        self.data[pseudo] = first + beats, rank
        if command in ("RDA", "WRA"):
            over = last + d["RTP"] if command == "RDA" else first + beats + d["WR"]
            self.closed[bank] = max(over, self.opened.get(bank, 0) + d["RAS"]) + d["RP"]
            self.row.pop(bank, None)

    def judge_refreshes(self, end):
        """As many as intervals are over, none later than two intervals behind the one before."""
        every = self.d["REFIpb" if self.refresh == "bank" else "REFI"]
        for rank in range(self.d["pseudo"] * self.d["ranks"]):
            had = self.refreshes[rank]
            if self.refresh == "none" and had:
                self.complain(f"rank {rank}: {len(had)} refreshes, need none")
            if self.refresh != "none" and not end // every - 2 <= len(had) <= end // every + 1:
                self.complain(f"rank {rank}: {len(had)} refreshes in {end} clocks, need {end // every}")
            for a, b in zip([0] + had, had):
                if self.refresh != "none" and b - a > 2 * every:
                    self.complain(f"rank {rank}: {b - a} clocks without a refresh, up to {b}")


def main():
    d, refresh = device_of(sys.argv[1]), sys.argv[3]
    complaints, n, end = [], defaultdict(int), 0
    channels = defaultdict(lambda: Channel(d, refresh, complaints.append))
    for line in csv.DictReader(open(sys.argv[2])):
        at, channel = int(line["clock"]), int(line["channel"])
        if at < channels[channel].bus_free["at"]:
            complaints.append(f"clock {at} behind a later one")
        channels[channel].bus_free["at"] = at
        channels[channel].judge(at, line["command"], int(line["bank"]), int(line["row"]))
        n["read" if line["command"] in READ else "write" if line["command"] in WRITE else "other"] += 1
        end = max(end, at)
    for channel in channels.values():
        channel.judge_refreshes(end)
    if len(sys.argv) > 4 and [n["read"], n["write"]] != [int(x) for x in sys.argv[4:6]]:
        complaints.append(f"{n['read']} bursts read and {n['write']} written, need {sys.argv[4]} and {sys.argv[5]}")
    print(*complaints[:5], sep="\n")
    print(f"{sum(n.values())} commands, {len(complaints)} complaints")
    sys.exit(bool(complaints) or sum(n.values()) == 0)


main()
