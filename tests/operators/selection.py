"""What of PyTorch's table of operators is not run, and what is treated specially, with the reasons."""
import re

# Family: (why it is left out, the names, as regular expressions on the whole name)
LEFT_OUT = {
    "derivatives": ("only training computes them", r".*_backward(_data)?|.*_grad(_oriented)?|linalg_norm_subgradients_at_zero"),
    "sparse tensors": ("their storage is not that of a tensor of a program", r"to_sparse|sparse_.*"),
    "kernels written as text": ("they are compiled for a GPU when they are called", r"jiterator_.*"),
    "operators of a GPU": ("PyTorch has none for the CPU", r"torch_ops_aten__(flash|efficient)_attention_forward|bmm_triton_optimized"
                                                           r"|torch__scaled_mm(_v2)?|nn_functional_batch_norm_without_cudnn"),
    "sizes alone": ("neither operands nor results are tensors", r"broadcast_shapes"),
}

# Their results are memory that nobody has written: as random numbers, they are compared by dtype and sizes alone.
UNWRITTEN = r"empty(_.*)?|new_empty(_.*)?|resize_(as_)?"

# Which of several equal elements they find is left open (docs/differences.md): they are given elements of which no two are equal.
TIES = r"topk|kthvalue|(nan)?median"

# What scripts/check runs of all: a few of each kind, and what few others are like.
SMOKE = """abs add clamp remainder bitwise_and where nn_functional_gelu
    sum amax var_mean cumsum softmax norm sort topk
    addmm baddbmm einsum nn_functional_conv2d nn_functional_layer_norm nn_functional_pad_reflect
    index_select index_put gather scatter masked_fill cat diagonal_scatter select_scatter tril
    nn_functional_cross_entropy nn_functional_nll_loss nn_functional_smooth_l1_loss nn_functional_kl_div
    nn_functional_binary_cross_entropy_with_logits nn_functional_triplet_margin_loss nn_functional_cosine_embedding_loss
    linalg_cross cumulative_trapezoid cartesian_prod tensordot take_along_dim nn_functional_pad_replicate_negative
    quantile kthvalue isclose linalg_norm istft full_like view_as_real complex bernoulli empty_like linalg_eigh fft_fft""".split()


def family_left_out(name):
    return next((family for family, (_, names) in LEFT_OUT.items() if re.fullmatch(names, name)), None)


def is_unwritten(name):
    return re.fullmatch(UNWRITTEN, name) is not None


def finds_one_of_equals(name):
    return re.fullmatch(TIES, name) is not None
