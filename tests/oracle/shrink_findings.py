#!/usr/bin/env python3
"""Makes programs for which compare_copies finds a difference smaller, and prints them in groups, the largest group first.

usage: shrink_findings.py COMPARE_COPIES (seeds|crossed) FIRST LAST [COUNT]

COUNT programs are taken (100 unless told), the shortest of each group is printed with its plan and the oracle's schedule.
A smaller program is one whose report copies more, or less, than the oracle's minimum as the first one did, with a result, a
mutation, a final value, a layer, an input or a state less."""
import collections
import random
import re
import subprocess
import sys

HEAD = re.compile(r"^==== (.*): the plan copies (\d+), the oracle (\d+)", re.M)
LAYER = re.compile(r"%([\w.]+): (\S+) = \w+\(")
SOURCE = re.compile(r'(?:input|state) "[^"]*" = %([\w.]+): (\S+)')
NEXT = re.compile(r'next "([^"]*)" = %([\w.]+)')


def compare(tool, network):
    """(sign, output) of a network's text; sign 0: both agree, or it is no network."""
    output = subprocess.run([tool, "-"], input=network, capture_output=True, text=True).stdout
    found = HEAD.search(output)
    planned, best = (int(found[2]), int(found[3])) if found else (0, 0)
    return (planned > best) - (planned < best), output


def uses(lines, name):
    return sum(len(re.findall(rf"%{re.escape(name)}(?![\w.])", line)) for line in lines)


def rename(lines, old, new):
    return [re.sub(rf"%{re.escape(old)}(?![\w.])", "%" + new, line) for line in lines]


def smaller(lines):
    """Texts with one thing less, the last things first."""
    for i in reversed(range(len(lines))):
        line, rest = lines[i], lines[:i] + lines[i + 1 :]
        layer, source, final = LAYER.match(line), SOURCE.match(line), NEXT.match(line)
        if line.startswith(("output", "mutation")):
            yield rest
        elif final:
            start = next(s[1] for s in map(SOURCE.match, lines) if s and f'state "{final[1]}"' in s[0])
            if start != final[2]:
                yield lines[:i] + [f'next "{final[1]}" = %{start}'] + lines[i + 1 :]
        elif layer:
            if uses(rest, layer[1]) == 0:
                yield rest
            for other in map(lambda text: LAYER.match(text) or SOURCE.match(text), lines[:i]):
                if other and other[2] == layer[2]:
                    yield rename(rest, layer[1], other[1])
        elif source:
            kept = [text for text in rest if not (NEXT.match(text) and NEXT.match(text)[2] == source[1])]
            if uses(kept, source[1]) == 0 and not any(text.startswith("mutation") for text in rest):
                yield kept


def shrink(tool, network, sign):
    lines = network.strip().split("\n")
    changed = True
    while changed:
        changed = False
        for candidate in smaller(lines):
            if compare(tool, "\n".join(candidate) + "\n")[0] == sign:
                lines, changed = candidate, True
                break
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    tool, kind, first, last = sys.argv[1:5]
    output = subprocess.run([tool, kind, first, last], capture_output=True, text=True).stdout
    print(output.strip().split("\n")[-1])
    blocks = re.split(r"(?m)^(?=====)", output)[1:]
    random.Random(0).shuffle(blocks)
    groups = collections.defaultdict(list)
    for block in blocks[: int(sys.argv[5]) if len(sys.argv) > 5 else 100]:
        name, planned, best = HEAD.match(block).groups()
        network = re.split(r"(?m)^# (?:report|rewritten)", block.split("\n", 1)[1])[0]
        sign = (int(planned) > int(best)) - (int(planned) < int(best))
        small = shrink(tool, network, sign)
        reasons = re.findall(r"COPIED \d+ bytes: (.*)", compare(tool, small)[1])
        key = (sign, " ".join(re.findall(r"= (\w+)\(", small)), re.sub(r"\b[tsx]\d+\b", "_", " | ".join(reasons)))
        groups[key].append((len(small), name, small))
    for (sign, layers, reason), found in sorted(groups.items(), key=lambda item: -len(item[1])):
        found.sort()
        print(f"## the plan copies {'more' if sign > 0 else 'less'}: {len(found)} of {layers} -- {reason}")
        print("## " + ", ".join(name for _, name, _ in found[:8]))
        print(compare(tool, found[0][2])[1].split("\n\n")[0] + "\n")


if __name__ == "__main__":
    main()
