"""Operators in enabled autocast regions of the CPU: those with a rule, those without, and regions in regions."""
import torch
from torch.nn import functional

from .case import BF16, F16, F32, F64, Case, named, some

ONE = {  # of one tensor (4, 6)
    "prod": lambda x: (x.prod(), x.prod(1), x.prod(0, dtype=F32)), "trace": lambda x: x.trace(), "cat": lambda x: torch.cat((x, x.float())),
    "cat_low": lambda x: torch.cat((x, x), 1), "cat_double": lambda x: torch.cat((x, x.double())), "stack": lambda x: torch.stack((x, x.float())),
    "hstack": lambda x: torch.hstack((x, x.float())), "index_copy": lambda x: x.index_copy(0, torch.tensor([1, 3]), x[:2]),
    "pad_reflect": lambda x: functional.pad(x[None], (1, 2), mode="reflect"), "pad_replicate": lambda x: functional.pad(x[None], (1, 2), mode="replicate"),
    "pad_constant": lambda x: functional.pad(x, (1, 2)), "pad_circular": lambda x: functional.pad(x[None], (1, 2), mode="circular"),
    "softmax": lambda x: x.softmax(1), "log_softmax": lambda x: x.log_softmax(1), "exp": lambda x: x.exp(), "sum": lambda x: x.sum(1),
    "mean": lambda x: x.mean(1), "norm": lambda x: x.norm(dim=1), "cumsum": lambda x: x.cumsum(1), "pow": lambda x: x ** 2,
    "gelu": functional.gelu, "layer_norm": lambda x: functional.layer_norm(x, (6,)), "rms_norm": lambda x: functional.rms_norm(x, (6,)),
    "max_pool3d": lambda x: functional.max_pool3d(x.reshape(1, 2, 3, 4)[None], 2), "avg_pool3d": lambda x: functional.avg_pool3d(x.reshape(1, 2, 3, 4)[None], 2),
    "max_pool2d": lambda x: functional.max_pool2d(x[None], 2), "adaptive_avg_pool3d": lambda x: functional.adaptive_avg_pool3d(x.reshape(1, 2, 3, 4)[None], 1),
    "mixed": lambda x: (x @ x.t() + x[:, :4], x.to(BF16) * x.float()), "inside": lambda x: (x @ x.t()).float().softmax(-1) @ x,
}
# Of these run_decompositions({}) makes a program that computes something else than the region (torch 2.13).
TRAIN_ONLY = {"pad_reflect", "pad_replicate", "linalg_matmul", "einsum", "einsum_batch"}
TWO = {  # of (4, 6) and (6, 6)
    "matmul": torch.matmul, "mm": torch.mm, "linear": functional.linear, "linear_bias": lambda a, b: functional.linear(a, b, b[0]),
    "bmm": lambda a, b: torch.bmm(a[None], b[None]), "addmm": lambda a, b: torch.addmm(b[0], a, b), "linalg_matmul": torch.linalg.matmul,
    "baddbmm": lambda a, b: torch.baddbmm(a[None], a[None], b[None], alpha=2), "addbmm": lambda a, b: torch.addbmm(a, a[None], b[None]),
    "mv": lambda a, b: torch.mv(a, b[0]), "dot": lambda a, b: torch.dot(a[0], b[0]), "outer": lambda a, b: torch.outer(a[0], b[0]),
    "einsum": lambda a, b: torch.einsum("ij,jk->ik", a, b), "einsum_batch": lambda a, b: torch.einsum("bij,bjk->bik", a[None], b[None]),
    "einsum_outer": lambda a, b: torch.einsum("i,j->ij", a[0], b[0]),
    "attention": lambda a, b: functional.scaled_dot_product_attention(a[None, None], b[None, None], b[None, None]),
    "attention_mask": lambda a, b: functional.scaled_dot_product_attention(a[None, None], b[None, None], b[None, None], attn_mask=a),
    "conv1d": lambda a, b: functional.conv1d(a[None], b[:, :4, None]), "conv1d_same": lambda a, b: functional.conv1d(a[None], b[:3, :4, None].repeat(1, 1, 3), padding="same"),
    "conv2d": lambda a, b: functional.conv2d(a[None, None], b[None, None, :3, :3]), "conv3d": lambda a, b: functional.conv3d(a[None, None, None], b[None, None, None, :3, :3]),
    "conv_transpose1d": lambda a, b: functional.conv_transpose1d(a[None], b[:4, :, None]),
    "conv_transpose2d": lambda a, b: functional.conv_transpose2d(a[None, None], b[None, None, :2, :2]), "prelu": lambda a, b: functional.prelu(a, b[0, :1]),
    "batch_norm": lambda a, b: functional.batch_norm(a, b[0].abs().float(), b[1].abs().float(), b[2].float(), b[3].float()),
    "group_norm": lambda a, b: functional.group_norm(a[None], 2, b[0, :4].float()),
    "where": lambda a, b: torch.where(a > 0, a @ b, a),
}


def in_region(fn, low):
    def call(*args):
        with torch.autocast("cpu", low):
            return fn(*args)
    return call


def nested(x, y):
    with torch.autocast("cpu", BF16):
        first = x @ y
        with torch.autocast("cpu", enabled=False):
            second = x @ y
            with torch.autocast("cpu", F16), torch.no_grad():
                third = x @ y
        with torch.autocast("cuda", F16):
            fourth = x @ y
        with torch.no_grad():
            fifth = x @ y
    with torch.autocast("cuda", F16):
        sixth = x @ y
    return first, second, third, fourth, fifth, sixth


def writes(x, y):
    state = x.clone()
    with torch.autocast("cpu", BF16):
        state.copy_(x @ y)
        state[0] = (state @ y)[1]
        state.add_(1)
        last = state @ y
    return state, last


def cases():
    yield Case("nested", nested, (some((4, 6), F32), some((6, 6), F32)), 2, "max")
    yield Case("writes", writes, (some((4, 6), F32), some((6, 6), F32)), 2, "max")
    for low in (BF16, F16):
        for name, fn in (ONE | TWO).items():
            for kinds in ((F32,), (low,), (F64,), (F32, low)):
                args = tuple(some(shape, kind) for shape, kind in zip(((4, 6), (6, 6)), kinds * 2))[: 1 if name in ONE else 2]
                if len(kinds) <= len(args) and not ("einsum" in name and len(kinds) > 1):  # that is not exported
                    yield Case(named(name, low, *kinds), in_region(fn, low), args, 3, "max", train_only=name in TRAIN_ONLY)
