"""Makes the programs of an architecture, and what eager PyTorch gives for their calls: files of build/models, kept there.

NAME.VARIANT.FORM.pt2, NAME.VARIANT.io.safetensors (keys as in scripts/make_fixtures.py) and NAME.json, which says what was
made: {"key": ..., "variants": {VARIANT: {"names", "mutated", "forms": {FORM: {"nodes"} or {"unexported"}}}}}.
"""
import contextlib
import copy
import json
import signal

import torch

import tensors
from fixtures.exporting import FORMS, export, mutated_inputs, record, record_states, save, stored_tensor, user_inputs

EXPORT_SECONDS = 120


class TooLong(Exception):
    """More processor time than a limit allows."""


@contextlib.contextmanager
def time_limit(seconds, what):
    def stop(*_):
        raise TooLong(f"{what} takes more than {seconds} s")
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def first_line(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]


def make(architecture, folder, variants, forms):
    """What NAME.json says of the variants in these forms, made now unless it is there already."""
    path = folder / f"{architecture.name}.json"
    key = architecture.key()
    made = json.loads(path.read_text()) if path.exists() else {}
    if made.get("key") != key:
        made = {"key": key, "variants": {}}
    for variant in variants:
        if not set(forms) <= set(made["variants"].get(variant, {"forms": ()})["forms"]):
            made["variants"][variant] = make_variant(architecture, variant == "dynamic", forms, folder / f"{architecture.name}.{variant}")
            path.write_text(json.dumps(made, indent=1))
    return {variant: made["variants"][variant] for variant in variants}


def make_variant(architecture, is_dynamic, forms, stem):
    check_eager(architecture, is_dynamic)
    try:
        return make_programs(architecture, is_dynamic, forms, stem)
    except Exception as error:  # whatever the exporter raises
        return {"names": [], "mutated": [], "forms": {form: {"unexported": first_line(error)} for form in forms}}


def make_programs(architecture, is_dynamic, forms, stem):
    exported = export_forms(architecture, is_dynamic, forms)
    facts = {form: {"unexported": ep} if isinstance(ep, str) else {"nodes": count_nodes(ep)} for form, ep in exported.items()}
    exported = {form: ep for form, ep in exported.items() if not isinstance(ep, str)}
    names = user_inputs(exported["train"])
    mutated = sorted(mutated_inputs(exported["aten"])) if "aten" in exported else []
    with time_limit(EXPORT_SECONDS, "calling"):
        io = values(architecture.module(), architecture.calls(is_dynamic), names, mutated)
    saved = {f"state.{name}" for name in (*exported["train"].state_dict, *exported["train"].constants)}
    io = {name: tensor for name, tensor in io.items() if not name.startswith("state.") or name in saved}
    tensors.write(stem.with_name(f"{stem.name}.io.safetensors"), io)
    for form, ep in exported.items():
        save(ep, stem.with_name(f"{stem.name}.{form}.pt2"))
    return {"names": names, "mutated": mutated, "forms": facts}


def check_eager(architecture, is_dynamic):
    """Raises what a module does that is not made as it should be: a fault of its entry, not of the exporter."""
    with torch.no_grad(), time_limit(EXPORT_SECONDS, "calling"):
        architecture.module()(*architecture.calls(is_dynamic)[-1])


def export_forms(architecture, is_dynamic, forms):
    """{form: exported program, or why there is none}. Raises what the exporter does."""
    module = architecture.module()
    dynamic = architecture.dynamic(module) if is_dynamic else None
    with time_limit(EXPORT_SECONDS, "exporting"):
        exported = export(module, architecture.calls(is_dynamic)[0], dynamic, ("train",), architecture.strict)
        for form in forms[1:]:
            try:
                exported[form] = FORMS[form](copy.deepcopy(exported["train"]))
            except TooLong:
                raise
            except Exception as error:  # whatever a decomposition raises
                exported[form] = first_line(error)
    return exported


def values(module, calls, names, mutated):
    """The tensors of an io file."""
    return {name: stored_tensor(tensor) for name, tensor in {**record(module, calls, names, mutated), **record_states(module)}.items()}


def count_nodes(ep):
    parts = [part for part in ep.graph_module.modules() if isinstance(part, torch.fx.GraphModule)]
    return sum(node.op == "call_function" for part in parts for node in part.graph.nodes)
