#!/usr/bin/env python3
"""Records what PyTorch computes at each node of a saved program, for `insitu compare`. Needs PyTorch and safetensors.

    scripts/setup --oracle && build/venv/bin/python scripts/record_values.py P.pt2 --input A --output R [--input A --output R]...

Each --input is a safetensors file of one call's inputs by name, as for `insitu run`; calls share one state. Its --output
holds `in.NAME` for each input and `node.NAME` for the tensor that each node gives, as it is when the node has run. Left out
are values that depend on uninitialised memory or chance: the program runs twice, with other numbers in their place.
"""
import argparse
import copy
import re

import torch
from safetensors.torch import load_file, save_file
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument

UNINITIALISED = re.compile(r"\b(new_)?empty(_like|_strided|_permuted)?\b")
STORED = {torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
          torch.uint8, torch.bool}


class Recorder(torch.fx.Interpreter):
    """Runs a graph; filler is what uninitialised memory holds, and the seed of chance."""

    def __init__(self, module, filler):
        super().__init__(module)
        self.filler, self.values = filler, {}

    def run_node(self, node):
        result = super().run_node(node)
        if node.op != "call_function":
            return result
        if UNINITIALISED.search(str(node.target)):
            result.fill_(self.filler)
        if isinstance(result, torch.Tensor) and result.dtype in STORED:
            self.values[node.name] = result.detach().clone(memory_format=torch.contiguous_format)
        return result


def bytes_of(tensor):
    return tensor.flatten().view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


class Program:
    """An exported program and its state, which calls change."""

    def __init__(self, exported):
        self.exported, self.signature = exported, exported.graph_signature
        self.stored = {**exported.state_dict, **exported.constants}

    def argument(self, spec, inputs):
        if spec.kind != InputKind.USER_INPUT:
            return self.stored[spec.target]
        if isinstance(spec.arg, TensorArgument):
            return inputs[spec.arg.name]
        return inputs[spec.arg.name].item() if spec.arg.name in inputs else getattr(spec.arg, "value", None)

    def run(self, inputs, filler):
        """The values of one call; state and inputs are left as it leaves them."""
        torch.manual_seed(filler)
        recorder = Recorder(self.exported.graph_module, filler)
        arguments = [self.argument(spec, inputs) for spec in self.signature.input_specs]
        with torch.no_grad():
            results = [copy.deepcopy(result) for result in recorder.run(*arguments)]  # one may be another's state
            for spec, result in zip(self.signature.output_specs, results):
                if spec.kind in (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION):
                    self.stored[spec.target].copy_(result)
                elif spec.kind == OutputKind.USER_INPUT_MUTATION:
                    inputs[spec.target].copy_(result)
        return recorder.values

    def record(self, inputs):
        """The tensors of one call's reference file."""
        before = {f"in.{name}": tensor.clone() for name, tensor in inputs.items()}
        kept = self.stored
        self.stored = copy.deepcopy(kept)
        first = self.run(copy.deepcopy(inputs), 1)
        self.stored = kept
        second = self.run(inputs, 0)
        return before | {f"node.{name}": value for name, value in first.items() if bytes_of(value) == bytes_of(second[name])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--input", action="append", required=True)
    parser.add_argument("--output", action="append", required=True)
    options = parser.parse_args()
    if len(options.input) != len(options.output):
        parser.error("each --input needs an --output")
    program = Program(torch.export.load(options.program))
    for source, target in zip(options.input, options.output):
        save_file(program.record(load_file(source)), target)


if __name__ == "__main__":
    main()
