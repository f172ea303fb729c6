#!/usr/bin/env python3
"""How long compilation takes, by the size of the program, in families that are hard on a planner.

    build/venv/bin/python bench/compile_time.py [--insitu PATH] [--cache DIR] [--most SIZE] [--no-export] [--plot F.svg] [--table F.md]
                                                  [FAMILY...]

Each family is a module of a size; it is exported, compiled by the command three times, and the fastest time counts. Programs
are kept in the cache folder, since exporting takes longer than compiling. The table has a row a program; the plot shows
seconds against nodes, both logarithmic, with the bound that the project keeps: 1 ms a node and 0.2 s."""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

FAMILIES = {}


def family(sizes, dynamic=False):
    def add(make):
        FAMILIES[make.__name__] = (make, sizes, dynamic)
        return make

    return add


def define(torch):
    nn = torch.nn

    class Module(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.n = n
            self.make(n)

        def make(self, n):
            pass

    def buffer(module, name, *shape):
        module.register_buffer(name, torch.zeros(*shape))

    @family([250, 1000, 4000])
    class chain(Module):
        """elementwise layers, one after the other"""

        def forward(self, x):
            for _ in range(self.n):
                x = torch.tanh(x + 1)
            return x

        inputs = staticmethod(lambda n: (torch.randn(4, 4),))

    @family([250, 1000, 4000])
    class wide(Module):
        """layers side by side, all of one input, summed in the end"""

        def forward(self, x):
            return torch.stack([torch.tanh(x + k) for k in range(self.n)]).sum(0)

        inputs = staticmethod(lambda n: (torch.randn(4, 4),))

    class dense(Module):
        def make(self, n):
            self.l = nn.ModuleList(nn.Conv2d(4 + 4 * i, 4, 1) for i in range(n))

        def forward(self, x):
            xs = [x]
            for layer in self.l:
                xs.append(layer(torch.cat(xs, 1)))
            return torch.cat(xs, 1)

        inputs = staticmethod(lambda n: (torch.randn(2, 4, 4, 4),))

    @family([16, 32, 64, 128, 256])
    class dense_static(dense):
        """concatenations of all earlier values"""

    @family([16, 32, 64, 128, 256], dynamic=True)
    class dense_dynamic(dense):
        """the same with a dynamic batch"""

    @family([64, 256, 1000])
    class element_writes(Module):
        """element writes and reads of one state"""

        def make(self, n):
            buffer(self, "h", 64)

        def forward(self, x):
            y = x
            for k in range(self.n):
                self.h[k % 64] = y * 0.5 + self.h[(k + 7) % 64]
                y = self.h[k * 3 % 64] + 1
            return y

        inputs = staticmethod(lambda n: (torch.tensor(1.0),))

    @family([64, 256, 1000])
    class slice_writes(Module):
        """row writes of one state, and reads of all of it in between"""

        def make(self, n):
            buffer(self, "h", n, 4)

        def forward(self, x):
            y = x
            for k in range(self.n):
                self.h[k] = y
                y = y + self.h.sum(0)
            return y

        inputs = staticmethod(lambda n: (torch.randn(4),))

    @family([64, 256, 1000])
    class deep_views(Module):
        """views of views of a state, with a write through the last"""

        def make(self, n):
            buffer(self, "h", 2 * n + 4)

        def forward(self, x):
            v = self.h
            for k in range(self.n):
                v = v[1:-1]
            v.add_(x)
            return self.h * 2

        inputs = staticmethod(lambda n: (torch.tensor(1.0),))

    @family([50, 200, 800])
    class many_states(Module):
        """states that are each updated from the one before"""

        def make(self, n):
            for k in range(n):
                buffer(self, f"s{k}", 4)

        def forward(self, x):
            for k in range(self.n):
                s = getattr(self, f"s{k}")
                s.mul_(0.5).add_(x)
                x = torch.tanh(s)
            return x

        inputs = staticmethod(lambda n: (torch.randn(4),))

    @family([50, 200, 500])
    class rotated_states(Module):
        """states that each take the old value of the next: a cycle"""

        def make(self, n):
            for k in range(n):
                buffer(self, f"s{k}", 4)

        def forward(self, x):
            old = [getattr(self, f"s{k}") + 0 for k in range(self.n)]
            for k in range(self.n):
                getattr(self, f"s{k}").copy_(old[(k + 1) % self.n])
            return x + old[0]

        inputs = staticmethod(lambda n: (torch.randn(4),))

    @family([16, 64, 256])
    class lstm_rows(Module):
        """steps of two LSTM cells whose states are rows of one buffer"""

        def make(self, n):
            self.cells = nn.ModuleList(nn.LSTMCell(4, 4) for _ in range(2))
            buffer(self, "h", 4, 1, 4)

        def forward(self, x):
            out = []
            for t in range(self.n):
                v = x[t : t + 1]
                for k, cell in enumerate(self.cells):
                    h, c = cell(v, (self.h[2 * k], self.h[2 * k + 1]))
                    self.h[2 * k] = h
                    self.h[2 * k + 1] = c
                    v = h
                out.append(v)
            return torch.cat(out)

        inputs = staticmethod(lambda n: (torch.randn(n, 4),))

    @family([4, 16, 64, 128])
    class biquads(Module):
        """samples through four second-order sections whose states are written element by element"""

        def make(self, n):
            buffer(self, "z", 4, 2)
            self.b, self.a = nn.Parameter(torch.rand(4, 3) * 0.3), nn.Parameter(torch.rand(4, 2) * 0.2)

        def forward(self, x):
            out = []
            for t in range(self.n):
                v = x[t]
                for k in range(4):
                    y = self.b[k, 0] * v + self.z[k, 0]
                    self.z[k, 0] = self.b[k, 1] * v - self.a[k, 0] * y + self.z[k, 1]
                    self.z[k, 1] = self.b[k, 2] * v - self.a[k, 1] * y
                    v = y
                out.append(v)
            return torch.stack(out)

        inputs = staticmethod(lambda n: (torch.randn(n),))

    @family([4, 16, 64])
    class decoder(Module):
        """attention layers with a key and a value cache each, written at a position"""

        def make(self, n):
            self.q = nn.ModuleList(nn.Linear(16, 48) for _ in range(n))
            self.o = nn.ModuleList(nn.Linear(16, 16) for _ in range(n))
            for k in range(n):
                buffer(self, f"k{k}", 1, 2, 32, 8)
                buffer(self, f"v{k}", 1, 2, 32, 8)

        def forward(self, x, at):
            for i in range(self.n):
                q, k, v = self.q[i](x).view(1, -1, 3, 2, 8).permute(2, 0, 3, 1, 4)
                keys, values = getattr(self, f"k{i}"), getattr(self, f"v{i}")
                keys.index_copy_(2, at, k)
                values.index_copy_(2, at, v)
                y = torch.nn.functional.scaled_dot_product_attention(q, keys, values)
                x = x + self.o[i](y.transpose(1, 2).reshape(1, -1, 16))
            return x

        inputs = staticmethod(lambda n: (torch.randn(1, 1, 16), torch.tensor([3])))


def export(name, n, path):
    import torch

    define(torch)
    make, _, dynamic = FAMILIES[name]
    shapes = ({0: torch.export.Dim("batch", min=1, max=64)},) if dynamic else None
    sys.setrecursionlimit(100000)
    with torch.no_grad():
        program = torch.export.export(make(n).eval(), make.inputs(n), dynamic_shapes=shapes)
    torch.export.save(program, path)
    nodes = sum(node.op == "call_function" for node in program.graph.nodes)
    with open(path + ".json", "w") as file:
        json.dump({"nodes": nodes}, file)


def measure(insitu, path, repeats):
    best = math.inf
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeats):
            before = os.times()
            started = time.time()
            command = [insitu, "compile", path, "-o", os.path.join(folder, "out.engine")]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
            if done.returncode != 0:
                sys.exit(f"{path}: {done.stderr}")
            after = os.times()
            best = min(best, after.children_user + after.children_system - before.children_user - before.children_system)
            if time.time() - started > 10:
                break
    report = subprocess.run([insitu, "explain", path, "--json"], capture_output=True, text=True)
    rows = json.loads(report.stdout)["report"] if report.returncode == 0 else []
    return best, sum(row["bytes_copied"] for row in rows if isinstance(row["bytes_copied"], int))


def write_table(rows, path):
    lines = ["| family | size | nodes | seconds | ms a node | copied bytes |", "| --- | --- | --- | --- | --- | --- |"]
    for name, size, nodes, seconds, copied in rows:
        lines.append(f"| {name} | {size} | {nodes:,} | {seconds:.3f} | {1000 * seconds / nodes:.3f} | {copied} |")
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")


COLOURS = ["#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#16a085", "#7f8c8d", "#2c3e50", "#e056a0", "#5d8233",
           "#3498db", "#a04000", "#6c3483"]


def write_plot(rows, path):
    left, top, width, height, low_x, high_x, low_y, high_y = 60, 20, 560, 380, 1, 5, -3, 1.5

    def at(nodes, seconds):
        x = left + width * (math.log10(nodes) - low_x) / (high_x - low_x)
        y = top + height * (high_y - math.log10(max(seconds, 10**low_y))) / (high_y - low_y)
        return f"{x:.1f},{y:.1f}"

    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 440" font-family="sans-serif" font-size="12">',
           '<rect width="800" height="440" fill="white"/>']
    for power in range(low_x, high_x + 1):
        x, y = at(10**power, 10**low_y).split(",")
        out.append(f'<path d="M{x} {top}V{y}" stroke="#ddd"/><text x="{x}" y="418" text-anchor="middle">{10**power:,}</text>')
    for power in range(low_y, int(high_y) + 1):
        x, y = at(10**low_x, 10.0**power).split(",")
        out.append(f'<path d="M{x} {y}H{left + width}" stroke="#ddd"/>'
                   f'<text x="54" y="{float(y) + 4:.1f}" text-anchor="end">{10.0**power:g} s</text>')
    out.append('<text x="340" y="434" text-anchor="middle">nodes</text>')
    bound = " ".join(at(10 ** (i / 10), 0.2 + 0.001 * 10 ** (i / 10)) for i in range(10, 44))
    out.append(f'<polyline points="{bound}" fill="none" stroke="black" stroke-dasharray="6 4"/>')
    out.append(f'<path d="M632 28h20" stroke="black" stroke-dasharray="6 4"/><text x="658" y="32">1 ms a node + 0.2 s</text>')
    for i, name in enumerate(dict.fromkeys(row[0] for row in rows)):
        colour = COLOURS[i % len(COLOURS)]
        points = [at(row[2], row[3]) for row in rows if row[0] == name]
        line = " ".join(points)
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        for point in points:
            x, y = point.split(",")
            out.append(f'<circle cx="{x}" cy="{y}" r="2.5" fill="{colour}"/>')
        out.append(f'<path d="M632 {50 + 20 * i}h20" stroke="{colour}" stroke-width="2"/>'
                   f'<text x="658" y="{54 + 20 * i}">{name}</text>')
    with open(path, "w") as file:
        file.write("\n".join(out) + "\n</svg>\n")


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser()
    parser.add_argument("families", nargs="*")
    parser.add_argument("--insitu", default=os.path.join(root, "build/release/bin/insitu"))
    parser.add_argument("--cache", default=os.path.join(tempfile.gettempdir(), "insitu_compile_time"))
    parser.add_argument("--most", type=int, default=10**9, help="leave out larger sizes")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-export", action="store_true", help="measure the programs of the cache alone")
    parser.add_argument("--export", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--plot")
    parser.add_argument("--table")
    args = parser.parse_args()
    if args.export:
        return export(args.export[0], int(args.export[1]), args.export[2])
    import torch

    define(torch)
    os.makedirs(args.cache, exist_ok=True)
    rows = []
    for name in args.families or FAMILIES:
        for size in FAMILIES[name][1]:
            path = os.path.join(args.cache, f"{name}_{size}.pt2")
            if size > args.most or (args.no_export and not os.path.exists(path + ".json")):
                continue
            if not os.path.exists(path + ".json"):
                subprocess.run([sys.executable, __file__, "--export", name, str(size), path], check=True)
            with open(path + ".json") as file:
                nodes = json.load(file)["nodes"]
            seconds, copied = measure(args.insitu, path, args.repeats)
            rows.append((name, size, nodes, seconds, copied))
            print(f"{name:16} {size:5} nodes {nodes:6} {seconds:8.3f} s {1000 * seconds / nodes:7.3f} ms/node "
                  f"copied {copied}{' TOO LONG' if seconds > 0.2 + 0.001 * nodes else ''}", flush=True)
    if args.table:
        write_table(rows, args.table)
    if args.plot:
        write_plot(rows, args.plot)


if __name__ == "__main__":
    main()
