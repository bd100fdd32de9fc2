#!/usr/bin/env python3
"""Compares `nstage check` with NVIDIA's compute-sanitizer over the case collection.

Usage: sanitizer_compare.py run OUT [options]    on a machine with a GPU, inside the folder that `cargo xtask dist` makes
       sanitizer_compare.py table OUT            anywhere, from the raw files that `run` left

`run` launches every case alone (`nstage launch --compare`) and under each of the four tools, checks it with `nstage check`,
and leaves in OUT the raw output: one file a tool, one section a case. It ends with what `table` does: OUT/table.csv with one row
a case and OUT/comparison.md with the summary.
"""

import argparse
import collections
import concurrent.futures
import csv
import glob
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
SECTION = re.compile(r"^== ((?:fail|pass)/\S+)$")
# Kept of one program's output.
MOST_LINES, MOST_CHARACTERS = 80, 8000


# ---------------------------------------------------------------- the run


def find_sanitizer(given):
    """The program, from the option, the path or the usual folders."""
    places = [given] if given else ["compute-sanitizer", *sorted(glob.glob("/usr/local/cuda*/bin/compute-sanitizer"), reverse=True)]
    for place in places:
        found = shutil.which(place)
        if found:
            return found
    sys.exit(f"compute-sanitizer not found (tried {', '.join(places)}); install the CUDA toolkit or pass --sanitizer PATH")


def tool_options(help_text):
    """Options for each tool that this version has, and sentences about those that it lacks."""
    notes = []

    def known(option, *value):
        if option in help_text:
            return [option, *value]
        notes.append(f"this version has no {option}")
        return []

    common = [*known("--show-backtrace", "no"), *known("--print-limit", "4"), *known("--check-exit-code", "no"), *known("--check-bulk-copy", "yes")]
    race = [*known("--racecheck-memcpy-async", "yes"), *known("--racecheck-deadlock-timeout", "3000"), *known("--racecheck-num-workers", "1")]
    init = []
    section = help_text.split("Initcheck-specific options:")[-1].split("-specific options:")[0]
    spaces = re.search(r"(--\S*initcheck-address-space)\b(.*?)(?=\n  --|\Z)", section, re.S)
    other = re.search(r"^\s*(--\S*shared\S*)", section, re.M)
    if spaces:
        init = [spaces[1], "all" if re.search(r"\ball\b", spaces[2]) else "shared"]
    elif other:
        init = [other[1], "yes"]
    else:
        notes.append("this version's initcheck has no option for shared memory: it watches global memory only")
    options = {"memcheck": [], "racecheck": race, "synccheck": [], "initcheck": init}
    return {tool: ["--tool", tool, *common, *options[tool]] for tool in TOOLS}, notes


def execute(command, seconds):
    """Runs a command in its own process group and kills the group when it takes too long."""
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds)
        ended = f"exit {process.returncode}"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        ended = "killed"
    text = output.decode(errors="replace")
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        # The summary stands at the end.
        lines = [*lines[: MOST_LINES - 10], f"[{len(lines) - MOST_LINES} lines left out]", *lines[-10:]]
    kept = "\n".join(lines)[:MOST_CHARACTERS]
    return f"[{ended} after {time.monotonic() - begun:.1f} s]\n{kept}\n"


class Raw:
    """One raw file: sections are written as they come, and sorted at the end."""

    def __init__(self, path):
        self.path, self.sections, self.lock = path, {}, threading.Lock()
        path.write_text("")

    def add(self, case, text):
        with self.lock:
            self.sections[case] = text
            with self.path.open("a") as file:
                file.write(f"== {case}\n{text}")

    def close(self):
        self.path.write_text("".join(f"== {case}\n{text}" for case, text in sorted(self.sections.items())))


def expectation(text):
    """What the case's head says comes out."""
    return re.search(r"^// nstage-expect:\s*(.*?)\s*$", text, re.M)[1]


def run(options):
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    cases = {}
    for folder in ("fail", "pass"):
        for path in sorted(Path(options.cases, folder).glob("*.ptx")):
            if options.only in path.stem:
                cases[f"{folder}/{path.stem}"] = path
    if not cases:
        sys.exit(f"no cases in {options.cases}; run it inside the dist folder or pass --cases")
    sanitizer = find_sanitizer(options.sanitizer)
    help_text = subprocess.run([sanitizer, "--help"], capture_output=True, text=True).stdout
    tools, notes = tool_options(help_text)
    with (out / "setup.txt").open("w") as file:
        for command in (
            ["date", "-u", "+%Y-%m-%dT%H:%M:%SZ"],
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
            [sanitizer, "--version"],
            ["cat", "VERSION"],
        ):
            if shutil.which(command[0]):
                file.write(subprocess.run(command, capture_output=True, text=True).stdout)
        for tool, flags in tools.items():
            file.write(f"{tool}: {' '.join(flags)}\n")
        file.writelines(f"note: {note}\n" for note in notes)
    print((out / "setup.txt").read_text())
    (out / "cases.jsonl").write_text("".join(json.dumps({"case": case, "expect": expectation(path.read_text())}) + "\n" for case, path in cases.items()))

    raw = {name: Raw(out / f"{name}.txt") for name in ("check", "launch", *TOOLS)}
    # The tools talk to the program over ports; each worker has its own.
    slots = queue.Queue()
    for slot in range(options.jobs):
        slots.put(slot)
    begun = time.monotonic()

    def job(name, case):
        path = str(cases[case])
        limit = ["--timeout", str(options.timeout / 2)]
        if time.monotonic() - begun > options.budget:
            raw[name].add(case, "[not run]\n")
            return
        slot = slots.get()
        try:
            if name == "check":
                command = [options.nstage, "check", path, "--landing", "all", "--format", "json"]
            elif name == "launch":
                command = [options.nstage, "launch", path, "--compare", *limit]
            else:
                unwritten = ["--unwritten"] if name == "initcheck" else []
                port = str(50000 + 40 * slot)
                command = [sanitizer, *tools[name], "--port", port, options.nstage, "launch", path, *limit, *unwritten]
            raw[name].add(case, execute(command, options.timeout))
        finally:
            slots.put(slot)

    def phase(title, jobs, workers):
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for done in [pool.submit(job, name, case) for name, case in jobs]:
                done.result()
        print(f"{time.monotonic() - begun:6.1f} s  {title}: {len(jobs)} runs", flush=True)

    phase("nstage check", [("check", case) for case in cases], options.jobs)
    phase("plain launches", [("launch", case) for case in cases], min(8, options.jobs))
    # Kernels that hang take their share of the device, so they come last and few at a time.
    hangs = {case for case, text in raw["launch"].sections.items() if hung(text)}
    phase("tools", [(tool, case) for tool in TOOLS for case in cases if case not in hangs], options.jobs)
    phase("tools on what hangs", [(tool, case) for case in sorted(hangs) for tool in TOOLS], min(6, options.jobs))
    for file in raw.values():
        file.close()
    table(options)


# ---------------------------------------------------------------- the table


def sections(path):
    """The sections of a raw file by case."""
    found, case = {}, None
    for line in path.read_text().splitlines():
        match = SECTION.match(line)
        if match:
            case = match[1]
            found[case] = ""
        elif case:
            found[case] += line + "\n"
    return found


def hung(text):
    return text.startswith("[killed") or "still running on" in text


def device_error(text):
    """What the driver says of a launch that failed, in a word or two."""
    match = re.search(r"failed on cuda:\d+: (.*?) \(CUDA_ERROR", text)
    return match[1] if match else None


# Headlines that are no finding: the frame around the findings, and the consequences that the program itself shows too.
NOT_FINDINGS = re.compile(
    r"^(COMPUTE-SANITIZER|ERROR SUMMARY|RACECHECK SUMMARY|LEAK SUMMARY|Program hit|Target application|"
    r"Error: (Target|process|couldn|No )|No (CUDA|kernel)|NVIDIA|.*print limit|Saved host|$)"
)


def headlines(text):
    """The first line of each finding that a tool prints; the lines below it are indented."""
    lines = (re.match(r"=========( ?)(\S.*)?$", line) for line in text.splitlines())
    return [line[2] for line in lines if line and line[2] and not NOT_FINDINGS.match(line[2])]


def general(headline):
    """A headline without places and numbers."""
    headline = re.sub(r"\bat (\S+\+0x[0-9a-f]+|\S+)(?= and| in|$|\s*\[)", "", headline)
    headline = re.sub(r"0x[0-9a-f]+|\d[\d,]*", "N", headline)
    return re.sub(r"\s+", " ", re.sub(r"\[N hazards?\]", "", headline)).strip()


def verdict(tool, text):
    """What a tool says, in a few words: a finding, or `hang`, `fails: …`, `refused`, `not run`, and nothing where all is well."""
    if text is None or text.startswith("[not run"):
        return "not run"
    found = headlines(text)
    if found:
        return general(found[0])
    if "its PTX cannot be used on" in text:
        return "refused"
    if hung(text):
        return "hang"
    error = device_error(text)
    if error:
        return f"fails: {error}"
    if tool in TOOLS and "SUMMARY" not in text:
        return "tool failed"
    return ""


def is_finding(words):
    return bool(words) and not re.match(r"hang|fails|refused|not run|tool failed", words)


def launched(text):
    """What the device alone shows of a case."""
    if text is None or text.startswith("[not run"):
        return "not run"
    if "its PTX cannot be used on" in text:
        return "refused"
    if hung(text):
        return "hang"
    error = device_error(text)
    if error:
        return f"fails: {error}"
    if ", in the simulator " in text:
        return "other values"
    return "as simulated" if "as in the simulator" in text else "done"


def checked(text):
    """Outcome and names of the errors that `nstage check` reports."""
    line = next((line for line in (text or "").splitlines() if line.startswith("{")), None)
    if line is None:
        return "failed", []
    report = json.loads(line)
    wanted = [finding["name"] for finding in report["findings"] if finding["severity"] == "error"]
    return report["outcome"], list(dict.fromkeys(wanted))


ADVISORIES = {"outstanding-at-exit", "vacuous-wait", "no-overlap", "divergent-commit", "duplicated-barrier", "cluster-window", "generic-shared-access"}


def rows(out):
    """One row a case."""
    raw = {name: sections(out / f"{name}.txt") for name in ("check", "launch", *TOOLS)}
    for line in (out / "cases.jsonl").read_text().splitlines():
        record = json.loads(line)
        case, expect = record["case"], record["expect"]
        outcome, names = checked(raw["check"].get(case))
        expected = expect.partition(" ")[2].split("|")
        row = {"case": case, "truth": expect, "nstage": " ".join([outcome, *names])}
        row["launch"] = launched(raw["launch"].get(case))
        row.update({tool: verdict(tool, raw[tool].get(case)) for tool in TOOLS})
        kind = expect.split()[0]
        row["kind"] = "clean" if kind == "clean" else "advisory" if set(expected) <= ADVISORIES else "fault"
        row["ours"] = outcome not in ("clean", "incomplete", "failed")
        row["ours_named"] = outcome == kind and (kind != "hazard" or bool(set(names) & set(expected)))
        row["theirs"] = any(is_finding(row[tool]) for tool in TOOLS)
        # Other values say nothing of a fault: the simulator lands copies as late as it may, and the device hardly ever does.
        row["shows"] = row["launch"] == "hang" or row["launch"].startswith("fails")
        yield row


def share(part, whole):
    return f"{len(part)} of {len(whole)}"


def summary(out, table):
    """The comparison in Markdown."""
    faults = [row for row in table if row["kind"] == "fault"]
    clean = [row for row in table if row["kind"] == "clean"]
    advisories = [row for row in table if row["kind"] == "advisory"]
    refused = [row for row in table if row["launch"] == "refused"]
    flag = lambda key, among: [row for row in among if row[key]]
    by_tool = lambda tool, among: [row for row in among if is_finding(row[tool])]
    both = [row for row in faults if row["ours"] and row["theirs"]]
    only_ours = [row for row in faults if row["ours"] and not row["theirs"]]
    only_theirs = [row for row in faults if row["theirs"] and not row["ours"]]
    neither = [row for row in faults if not row["theirs"] and not row["ours"]]

    yield "# nstage check beside compute-sanitizer\n"
    yield "Made by `scripts/sanitizer_compare.py` from the raw files in this folder; `table.csv` has one row a case.\n"
    yield "```text\n" + (out / "setup.txt").read_text().strip() + "\n```\n"
    yield f"| | nstage check | compute-sanitizer, any tool | {' | '.join(TOOLS)} |"
    yield "|---|---|---|" + "---|" * len(TOOLS)
    for title, among in (("faults found", faults), ("alarms on clean patterns", clean), ("advisories", advisories)):
        cells = [share(flag("ours", among), among), share(flag("theirs", among), among), *(share(by_tool(tool, among), among) for tool in TOOLS)]
        yield f"| {title} | {' | '.join(cells)} |"
    yield ""
    yield f"Of {len(faults)} faults both found {len(both)}, only nstage {len(only_ours)}, only compute-sanitizer {len(only_theirs)}, neither {len(neither)}."
    yield f"nstage names the class that the case expects in {share(flag('ours_named', faults), faults)}."
    shows = flag("shows", faults)
    yield f"Launched on the device with no tool, {share(shows, faults)} faults show: the launch fails or never ends. The others end as if all were well."
    same = [row for row in clean if row["launch"] == "as simulated"]
    yield f"Of the clean patterns {share(same, clean)} leave the same bits on the device as in the simulator."
    if refused:
        yield f"The driver's compiler refuses {len(refused)} cases, which no tool can then see: {names(refused)}."
    yield "\nA tool is credited with any finding on a case, whatever it says; a launch that fails or hangs under it is no finding, since that shows without it.\n"

    yield "## By class\n"
    yield "| class that the case expects | cases | nstage | compute-sanitizer | its tools | shows without a tool |"
    yield "|---|---|---|---|---|---|"
    classes = collections.defaultdict(list)
    for row in faults + advisories:
        classes[row["truth"].partition(" ")[2].split("|")[0] or row["truth"]].append(row)
    for name, among in sorted(classes.items()):
        used = [f"{tool} {len(by_tool(tool, among))}" for tool in TOOLS if by_tool(tool, among)]
        yield f"| {name} | {len(among)} | {len(flag('ours', among))} | {len(flag('theirs', among))} | {', '.join(used) or '–'} | {len(flag('shows', among))} |"
    yield ""

    yield "## Where compute-sanitizer is better\n"
    yield f"Faults that only it found ({len(only_theirs)}): {names(only_theirs)}.\n"
    ours_false = flag("ours", clean)
    yield f"False alarms of nstage on clean patterns ({len(ours_false)}): {names(ours_false)}.\n"
    yield "It runs the machine code on the device: any instruction, any size, whole programs with their host code. nstage runs PTX in a simulator, one launch at a time."
    yield "And the collection is nstage's own: it holds the faults that nstage has rules for, so that finding them all is what is to be expected of it, and no measure of faults that nobody thought of.\n"
    yield "## Where nstage is better\n"
    yield f"Faults that only it found ({len(only_ours)}): {names(only_ours)}.\n"
    theirs_false = flag("theirs", clean)
    yield f"False alarms of compute-sanitizer on clean patterns ({len(theirs_false)}):\n"
    for row in theirs_false:
        for tool in TOOLS:
            if is_finding(row[tool]):
                yield f"- `{row['case']}`, {tool}: {row[tool]}"
    yield ""
    yield f"## Found by neither ({len(neither)})\n\n{names(neither)}.\n"

    yield "## What the tools said\n"
    yield "Each kind of finding with the number of cases that it was the first finding of.\n"
    for tool in TOOLS:
        counts = collections.Counter(row[tool] for row in table if row[tool])
        yield f"- {tool}: " + ("; ".join(f"{text} ({count})" for text, count in counts.most_common()) or "nothing")
    yield "\n## Every case\n"
    yield f"| case | truth | nstage check | {' | '.join(TOOLS)} | launched alone |"
    yield "|---|---|---|" + "---|" * len(TOOLS) + "---|"
    for row in table:
        cells = [row["case"], row["truth"].replace("|", " or "), row["nstage"], *(row[tool] or "–" for tool in TOOLS), row["launch"]]
        yield f"| {' | '.join(cells)} |"


def names(among):
    return ", ".join(f"`{row['case'].partition('/')[2]}`" for row in among) or "none"


def table(options):
    out = Path(options.out)
    made = list(rows(out))
    columns = ["case", "truth", "nstage", *TOOLS, "launch"]
    with (out / "table.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(made)
    lines = list(summary(out, made))
    (out / "comparison.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines[: lines.index("## By class\n")]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("run", help="run everything, then make the table")
    command.set_defaults(act=run)
    command.add_argument("out", metavar="OUT")
    command.add_argument("--nstage", default="./nstage", help="the program (default %(default)s)")
    command.add_argument("--cases", default="tests/cases", help="the case collection (default %(default)s)")
    command.add_argument("--sanitizer", help="compute-sanitizer, if it is not on the path or under /usr/local/cuda")
    command.add_argument("--jobs", type=int, default=16, help="runs at once (default %(default)s)")
    command.add_argument("--timeout", type=float, default=20, help="seconds for one run (default %(default)s)")
    command.add_argument("--budget", type=float, default=480, help="seconds after which no further run begins (default %(default)s)")
    command.add_argument("--only", default="", help="cases whose name holds this")
    command = commands.add_parser("table", help="make the table again from the raw files")
    command.set_defaults(act=table)
    command.add_argument("out", metavar="OUT")
    options = parser.parse_args()
    options.act(options)


if __name__ == "__main__":
    main()
