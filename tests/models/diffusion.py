"""Networks of diffusion models, of diffusers."""
import torch

from architecture import N, Architecture, Positional, floats

BATCHES = (2, 3, 4)


def network(kind, inputs, names, smoke=False, whole=(), **own):
    """own: the configuration. The batch is open, but of the inputs named in whole, which have none."""
    def make():
        import diffusers
        return Positional(getattr(diffusers, kind)(**own), names, return_dict=False)
    return Architecture(kind, "diffusers", make, inputs, BATCHES, tuple(None if name in whole else {0: N} for name in names), smoke=smoke, recipe=repr((kind, names, own)))


def noised(channels=4, size=8):
    """A picture and the step of each."""
    return lambda n: (floats(n, channels, size, size), torch.arange(n) + 3)


def told(channels=4, size=8, length=5, width=16):
    """And the words that it is to show."""
    return lambda n: (*noised(channels, size)(n), floats(n, length, width))


STEP, TOLD = ("sample", "timestep"), ("sample", "timestep", "encoder_hidden_states")
BLOCKS = {"block_out_channels": (8, 16), "layers_per_block": 1, "norm_num_groups": 4}
CONDITION = {**BLOCKS, "sample_size": 8, "cross_attention_dim": 16, "attention_head_dim": 4}
ATTENTION = {"num_attention_heads": 2, "attention_head_dim": 8, "num_layers": 1}
PICTURE = {"sample_size": 8, "patch_size": 2, "in_channels": 4}
ENCODER = {"block_out_channels": [8, 16], "layers_per_block": 1, "norm_num_groups": 4, "down_block_types": ["DownEncoderBlock2D"] * 2, "up_block_types": ["UpDecoderBlock2D"] * 2}


def picture(n):
    return (floats(n, 3, 16, 16),)


ARCHITECTURES = [
    network("UNet2DModel", noised(3, 16), STEP, sample_size=16, attention_head_dim=4, down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"), **BLOCKS),
    network("UNet2DConditionModel", told(), TOLD, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), **CONDITION),
    network("UNet1DModel", lambda n: (floats(n, 2, 64), torch.arange(n) + 3), STEP, sample_size=64, block_out_channels=(32, 32, 64), extra_in_channels=64, layers_per_block=1),
    network("UNet3DConditionModel", lambda n: (floats(n, 4, 2, 8, 8), torch.arange(n) + 3, floats(n, 5, 16)), TOLD, down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"), up_block_types=("UpBlock3D", "CrossAttnUpBlock3D"), **CONDITION),
    network("AutoencoderKL", picture, ("sample",), latent_channels=2, **ENCODER),
    network("AutoencoderTiny", picture, ("sample",), smoke=True, encoder_block_out_channels=(8, 8), decoder_block_out_channels=(8, 8), num_encoder_blocks=(1, 1), num_decoder_blocks=(1, 1)),
    network("AsymmetricAutoencoderKL", picture, ("sample",), latent_channels=2, down_block_out_channels=[8, 16], up_block_out_channels=[8, 16], norm_num_groups=4, down_block_types=["DownEncoderBlock2D"] * 2, up_block_types=["UpDecoderBlock2D"] * 2),
    network("VQModel", picture, ("sample",), num_vq_embeddings=16, vq_embed_dim=2, latent_channels=2, **ENCODER),
    network("DiTTransformer2DModel", lambda n: (*noised()(n), torch.arange(n)), ("hidden_states", "timestep", "class_labels"), num_embeds_ada_norm=10, norm_type="ada_norm_zero", norm_elementwise_affine=False, **ATTENTION, **PICTURE),
    network("SD3Transformer2DModel", lambda n: (floats(n, 4, 8, 8), floats(n, 5, 16), floats(n, 24), torch.arange(n) + 3), ("hidden_states", "encoder_hidden_states", "pooled_projections", "timestep"), joint_attention_dim=16, caption_projection_dim=16, pooled_projection_dim=24, out_channels=4, pos_embed_max_size=8, **ATTENTION, **PICTURE),
    network("PixArtTransformer2DModel", told(), ("hidden_states", "timestep", "encoder_hidden_states"), cross_attention_dim=16, caption_channels=16, out_channels=8, **ATTENTION, **PICTURE),
    network("FluxTransformer2DModel", lambda n: (floats(n, 16, 4), floats(n, 5, 16), floats(n, 24), torch.rand(n), floats(16, 3), floats(5, 3)), ("hidden_states", "encoder_hidden_states", "pooled_projections", "timestep", "img_ids", "txt_ids"), whole=("img_ids", "txt_ids"), patch_size=1, in_channels=4, num_single_layers=1, joint_attention_dim=16, pooled_projection_dim=24, axes_dims_rope=(2, 2, 4), **ATTENTION),
    network("AuraFlowTransformer2DModel", lambda n: (floats(n, 4, 8, 8), floats(n, 5, 16), torch.rand(n)), ("hidden_states", "encoder_hidden_states", "timestep"), num_mmdit_layers=1, num_single_dit_layers=1, attention_head_dim=8, num_attention_heads=2, joint_attention_dim=16, caption_projection_dim=16, pos_embed_max_size=64, out_channels=4, **PICTURE),
    network("SanaTransformer2DModel", told(), ("hidden_states", "timestep", "encoder_hidden_states"), in_channels=4, out_channels=4, num_attention_heads=2, attention_head_dim=8, num_layers=1, num_cross_attention_heads=2, cross_attention_head_dim=8, cross_attention_dim=16, caption_channels=16, sample_size=8, patch_size=1),
    network("PriorTransformer", lambda n: (floats(n, 16), torch.arange(n) + 3, floats(n, 16), floats(n, 5, 16)), ("hidden_states", "timestep", "proj_embedding", "encoder_hidden_states"), embedding_dim=16, num_embeddings=5, additional_embeddings=4, **ATTENTION),
    network("AutoencoderDC", picture, ("sample",), latent_channels=4, attention_head_dim=4, encoder_block_types=("ResBlock", "EfficientViTBlock"), decoder_block_types=("ResBlock", "EfficientViTBlock"), encoder_block_out_channels=(8, 16), decoder_block_out_channels=(8, 16), encoder_layers_per_block=(1, 1), decoder_layers_per_block=(1, 1), encoder_qkv_multiscales=((), (5,)), decoder_qkv_multiscales=((), (5,)), decoder_norm_types="rms_norm", decoder_act_fns="silu"),
]
