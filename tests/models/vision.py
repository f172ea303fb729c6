"""Image models: one of each family of timm, one of each of torchvision, and those of transformers."""
import inspect

from architecture import IMAGE_DIMS, N, Architecture, Positional, floats, images, numbers
from tiny import LEFT_OUT, config

BATCHES = (2, 3, 4)


# ---- timm ----


def timm_model(name, size=64, is_dynamic=True, smoke=False, **own):
    """own: arguments of timm.create_model, for smaller numbers than the name has."""
    def make():
        import timm
        return timm.create_model(name, pretrained=False, num_classes=5, **own)
    return Architecture(f"timm-{name}", "timm", make, images(size), BATCHES, IMAGE_DIMS if is_dynamic else None, smoke=smoke, recipe=repr((name, size, own)))


def fixed(name, size=64, is_dynamic=True, **own):
    """One that is made for a size of images."""
    return timm_model(name, size, is_dynamic, img_size=size, **own)


TIMM = [
    timm_model("test_byobnet"), fixed("test_vit", size=32), timm_model("test_convnext"), timm_model("test_efficientnet"), timm_model("test_mambaout"), timm_model("test_nfnet"),
    timm_model("test_resnet", smoke=True), fixed("test_coatnet"), fixed("test_maxvit"), timm_model("test_efficientnet_evos"),
    fixed("beit_base_patch16_224", embed_dim=32, depth=1, num_heads=4), timm_model("halonet26t", size=128, is_dynamic=False), timm_model("botnet26t_256", size=128, img_size=128),
    fixed("cait_xxs24_224", embed_dim=32, depth=1, num_heads=4), fixed("coat_lite_tiny", size=64, is_dynamic=False),
    fixed("convit_tiny", embed_dim=32, depth=2, num_heads=4, local_up_to_layer=1), timm_model("convmixer_1024_20_ks9_p14", size=56, is_dynamic=False),
    fixed("crossvit_tiny_240", size=240, is_dynamic=False), timm_model("cs3darknet_s"), timm_model("davit_tiny", depths=(1, 1, 1, 1), embed_dims=(16, 32, 32, 32), num_heads=(2, 4, 4, 4)),
    fixed("deit3_small_patch16_224", embed_dim=32, depth=1, num_heads=4), timm_model("densenet121", growth_rate=4, block_config=(1, 2, 2, 1)), timm_model("dla46_c"), timm_model("dpn48b", k_sec=(1, 1, 1, 1)),
    timm_model("edgenext_xx_small", depths=(1, 1, 2, 1)), timm_model("efficientformer_l1", size=224, is_dynamic=False, depths=(1, 1, 1, 1), num_vit=1), timm_model("efficientformerv2_s0", size=224, is_dynamic=False, depths=(1, 1, 1, 1)),
    timm_model("efficientvim_m1"), timm_model("efficientvit_b0"), timm_model("efficientvit_m0", size=224, is_dynamic=False), fixed("eva02_tiny_patch14_224", size=56, embed_dim=32, depth=1, num_heads=4),
    timm_model("fasternet_t0", depths=(1, 1, 1, 1)), timm_model("fastvit_t8", layers=(1, 1, 1, 1)), timm_model("focalnet_tiny_srf", is_dynamic=False), fixed("gcvit_xxtiny", size=224, is_dynamic=False),
    timm_model("ghostnet_050"), timm_model("hgnetv2_b0"), fixed("hiera_tiny_224", size=64, embed_dim=16, num_heads=1, stages=(1, 1, 1, 1)), timm_model("hrnet_w18_small", size=64, is_dynamic=False),
    timm_model("inception_next_atto"), timm_model("inception_v3", size=96, is_dynamic=False), timm_model("lcnet_050"), timm_model("levit_128s", size=224, is_dynamic=False), timm_model("mobilenetv3_small_050"),
    timm_model("mobilenetv4_conv_small_035"), timm_model("mobilevit_xxs"), timm_model("mobilevitv2_050"), fixed("mvitv2_tiny", size=64, is_dynamic=False), fixed("mixer_s32_224", is_dynamic=False),
    fixed("gmlp_ti16_224", is_dynamic=False), fixed("resmlp_12_224", is_dynamic=False), fixed("nest_tiny", size=64, is_dynamic=False),
    timm_model("nf_regnet_b0", is_dynamic=False), fixed("pit_ti_224", size=64, base_dims=(8, 8, 8), depth=(1, 1, 1), heads=(2, 2, 2)), timm_model("poolformer_s12", is_dynamic=False), timm_model("caformer_s18", is_dynamic=False),
    timm_model("pvt_v2_b0", depths=(1, 1, 1, 1)), timm_model("rdnet_tiny", is_dynamic=False, num_blocks_list=[1, 1, 1, 1, 1, 1, 1]), timm_model("regnety_002"), timm_model("repghostnet_050"), timm_model("repvit_m0_9"), timm_model("res2net50_14w_8s", layers=(1, 1, 1, 1)),
    timm_model("resnest14d"), timm_model("resnetv2_18"), timm_model("rexnet_100"), timm_model("selecsls42"), timm_model("legacy_seresnet18"), timm_model("sequencer2d_s", size=56, layers=(1, 1, 1, 1), embed_dims=(16, 32, 32, 32), hidden_sizes=(8, 8, 8, 8), img_size=56),
    timm_model("shvit_s1"), timm_model("skresnet18"), timm_model("starnet_s050"), timm_model("swiftformer_xs"), fixed("swin_tiny_patch4_window7_224", size=56, embed_dim=16, depths=(1, 2), num_heads=(2, 4)),
    fixed("swinv2_tiny_window8_256", size=64, embed_dim=16, depths=(1, 2), num_heads=(2, 4)), fixed("swinv2_cr_tiny_224", size=64, embed_dim=16, depths=(1, 2), num_heads=(2, 4)), timm_model("tiny_vit_5m_224", size=224, is_dynamic=False, depths=(1, 1, 1, 1)),
    fixed("tnt_s_patch16_224", embed_dim=32, depth=1, num_heads_outer=4), timm_model("tresnet_m", is_dynamic=False, layers=[1, 1, 1, 1]), fixed("twins_svt_small", embed_dims=(16, 32, 32, 32), depths=(1, 1, 1, 1), num_heads=(2, 2, 2, 2)),
    fixed("visformer_tiny", embed_dim=32, depth=1), fixed("vit_relpos_small_patch16_224", embed_dim=32, depth=1, num_heads=4), fixed("samvit_base_patch16", embed_dim=32, depth=1, num_heads=4), fixed("vitamin_small_224", size=64, is_dynamic=False),
    fixed("volo_d1_224", size=64, is_dynamic=False), timm_model("ese_vovnet19b_slim"), timm_model("xception41", is_dynamic=False), fixed("xcit_nano_12_p16_224", embed_dim=32, depth=1, num_heads=4),
]


# ---- torchvision ----


def torchvision_model(name, size=64, smoke=False, is_dynamic=True, **own):
    def make():
        import torchvision
        return torchvision.models.get_model(name, weights=None, **own)
    return Architecture(f"torchvision-{name}", "torchvision", make, images(size), BATCHES, IMAGE_DIMS if is_dynamic else None, smoke=smoke, recipe=repr((name, size, own)))


def segmentation(name):
    def make():
        import torchvision
        return Positional(torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=5))
    return Architecture(f"torchvision-{name}", "torchvision", make, images(64), BATCHES, IMAGE_DIMS, recipe=name)


def detector(name):
    """Backbone and head, without what picks boxes out of their results."""
    def make():
        import torch
        import torchvision

        class Heads(torch.nn.Module):
            def __init__(self):
                super().__init__()
                model = torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=5)
                self.backbone, self.head = model.backbone, model.head if hasattr(model, "head") else model.rpn.head

            def forward(self, image):
                result = self.head(list(self.backbone(image).values()))
                return result if isinstance(result, dict) else tuple(result)
        return Positional(Heads())
    return Architecture(f"torchvision-{name}", "torchvision", make, images(64), BATCHES, IMAGE_DIMS, recipe=name)


def small(name, make, size=64, inputs=None):
    """Of torchvision's classes, where its functions leave no number open."""
    def made():
        import torchvision
        return make(torchvision.models)
    return Architecture(f"torchvision-{name}", "torchvision", made, inputs or images(size), BATCHES, IMAGE_DIMS, recipe=inspect.getsource(make))


def swin(models):
    return models.SwinTransformer([4, 4], 16, [1, 2], [2, 4], [4, 4], num_classes=5)


def swin_v2(models):
    parts = models.swin_transformer
    return models.SwinTransformer([4, 4], 16, [1, 2], [2, 4], [4, 4], num_classes=5, block=parts.SwinTransformerBlockV2, downsample_layer=parts.PatchMergingV2)


def vit(models):
    return models.VisionTransformer(32, 8, 1, 4, 32, 48, num_classes=5)


def maxvit(models):
    return models.MaxVit((64, 64), 8, 4, [8, 16], [1, 1], 4, 0.0, num_classes=5)


def convnext(models):
    return models.ConvNeXt([models.convnext.CNBlockConfig(8, 16, 1), models.convnext.CNBlockConfig(16, None, 1)], num_classes=5)


def densenet(models):
    return models.DenseNet(4, (1, 2, 2, 1), 8, num_classes=5)


def video_resnet(models):
    video = models.video.resnet
    return video.VideoResNet(video.BasicBlock, [video.Conv3DSimple] * 4, [1, 1, 1, 1], video.BasicStem, 5)


def video_resnet_of_two(models):
    video = models.video.resnet
    return video.VideoResNet(video.BasicBlock, [video.Conv2Plus1D] * 4, [1, 1, 1, 1], video.R2Plus1dStem, 5)


def alexnet(models):
    return with_small_classifier(models.alexnet(), 6)


def vgg(models):
    return with_small_classifier(models.vgg11(), 7)


def with_small_classifier(model, side):
    from torch import nn
    channels = [layer for layer in model.features if isinstance(layer, nn.Conv2d)][-1].out_channels
    model.classifier = nn.Sequential(nn.Dropout(), nn.Linear(channels * side * side, 16), nn.ReLU(True), nn.Linear(16, 5))
    return model


def clips(batch):
    return (floats(batch, 3, 4, 32, 32),)


def raft():
    import torchvision
    return Positional(torchvision.models.optical_flow.raft_small(weights=None), num_flow_updates=1)


TORCHVISION = [
    small("alexnet", alexnet), small("convnext", convnext), small("densenet", densenet), torchvision_model("efficientnet_b0"), torchvision_model("googlenet", init_weights=False, aux_logits=False),
    torchvision_model("inception_v3", size=96, init_weights=False, aux_logits=False, is_dynamic=False), small("maxvit", maxvit), torchvision_model("mnasnet0_5"), torchvision_model("mobilenet_v2"),
    torchvision_model("mobilenet_v3_small"), torchvision_model("regnet_y_400mf"), torchvision_model("resnet18"), torchvision_model("shufflenet_v2_x0_5"), torchvision_model("squeezenet1_1", smoke=True), small("swin", swin),
    small("swin_v2", swin_v2), small("vgg11", vgg), small("vit", vit),
    segmentation("deeplabv3_mobilenet_v3_large"), segmentation("lraspp_mobilenet_v3_large"),
    detector("fasterrcnn_mobilenet_v3_large_fpn"), detector("ssdlite320_mobilenet_v3_large"),
    small("r3d", video_resnet, inputs=clips), small("r2plus1d", video_resnet_of_two, inputs=clips),
    Architecture("torchvision-raft_small", "torchvision", raft, lambda n: (floats(n, 3, 128, 128), floats(n, 3, 128, 128)), (1, 2, 3)),
]


# ---- transformers ----


def vision_model(auto, kind, size=32, is_dynamic=True, name=None, always=(), **own):
    def make():
        import transformers
        return Positional(getattr(transformers, auto).from_config(config(kind, **own)), ("pixel_values",), **dict(always))
    return Architecture(name or kind, "transformers", make, images(size), BATCHES, IMAGE_DIMS if is_dynamic else None, recipe=repr((auto, kind, size, always, own)))


def seen(kind, **options):
    """Of images of 32 by 32 in patches of 8."""
    return vision_model("AutoModel", kind, **{"image_size": 32, "patch_size": 8, **options})


def stages(kind, size=64, **own):
    return vision_model("AutoModel", kind, size, **own)


def two_towers(kind, **own):
    """Text and image in."""
    def make():
        import transformers
        text = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 48, "vocab_size": 97, "max_position_embeddings": 32, "projection_dim": 16, "eos_token_id": 2}
        image = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 48, "image_size": 32, "patch_size": 8, "projection_dim": 16}
        made = transformers.CONFIG_MAPPING[kind](text_config=text, vision_config=image, **own)
        return Positional(transformers.AutoModel.from_config(made), ("input_ids", "pixel_values"))
    return Architecture(kind, "transformers", make, lambda n: (numbers(n, 7), floats(n, 3, 32, 32)), BATCHES, ({0: N}, {0: N}), recipe=repr((kind, own)))


DETR = {"use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None, "num_queries": 5}


def detected(kind, **own):
    def make():
        import transformers
        backbone = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], out_features=["stage2", "stage3", "stage4"])
        return Positional(transformers.AutoModelForObjectDetection.from_config(config(kind, backbone_config=backbone, **own)), ("pixel_values",))
    return Architecture(kind, "transformers", make, images(64), BATCHES, None, recipe=repr((kind, own)))


TRANSFORMERS = [
    seen("vit"), seen("deit"), seen("beit"), seen("dinov2"), seen("dinov2_with_registers"), seen("dinov3_vit"), seen("ijepa"), seen("vit_msn"), seen("siglip_vision_model"), seen("clip_vision_model"),
    seen("pixtral", is_dynamic=False), seen("hiera", size=64, image_size=[64, 64], patch_size=[7, 7], embed_dim=16, depths=[1, 1], num_heads=[2, 4], num_query_pool=1),
    stages("convnext", hidden_sizes=[16, 16, 16, 16], depths=[1, 1, 1, 1]), stages("convnextv2", hidden_sizes=[16, 16, 16, 16], depths=[1, 1, 1, 1]), stages("cvt", embed_dim=[8, 16, 16], num_heads=[1, 2, 2], depth=[1, 2, 3]),
    stages("efficientnet", width_coefficient=0.25, depth_coefficient=0.2, hidden_dim=320), stages("focalnet", embed_dim=8, depths=[1, 1], focal_levels=[2, 2], focal_windows=[3, 3], image_size=64),
    stages("levit", size=64, image_size=64, hidden_sizes=[16, 16, 16], depths=[1, 1, 1], num_attention_heads=[2, 2, 2], key_dim=[8, 8, 8]), stages("mobilenet_v1", depth_multiplier=0.25), stages("mobilenet_v2", depth_multiplier=0.25),
    stages("mobilevit", hidden_sizes=[16, 16, 32], neck_hidden_sizes=[8, 8, 8, 16, 16, 16, 32]), stages("mobilevitv2"), stages("poolformer", hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1]), stages("pvt_v2", hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 2]),
    stages("regnet", embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], groups_width=4), stages("resnet", embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1]), stages("segformer", hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 2]),
    stages("swiftformer", depths=[1, 1, 1, 1], embed_dims=[8, 8, 16, 16]), stages("swin", image_size=64, embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4, num_attention_heads=LEFT_OUT, num_hidden_layers=LEFT_OUT, hidden_size=LEFT_OUT), stages("swinv2", image_size=64, embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4, num_attention_heads=LEFT_OUT, num_hidden_layers=LEFT_OUT, hidden_size=LEFT_OUT),
    stages("swin2sr", size=16, image_size=16, embed_dim=12, depths=[1, 1], num_heads=[2, 2], window_size=4, num_attention_heads=LEFT_OUT, num_hidden_layers=LEFT_OUT, hidden_size=LEFT_OUT), stages("glpn", hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 2], decoder_hidden_size=8),
    stages("textnet", size=64, conv_layer_kernel_sizes=[[[3, 3]], [[3, 1]], [[1, 3]], [[3, 3]]], conv_layer_strides=[[2], [2], [2], [1]], hidden_sizes=[8, 8, 16, 16, 16]), vision_model("AutoModelForDepthEstimation", "dpt", 32, image_size=32, patch_size=8, neck_hidden_sizes=[8, 8, 8, 8], num_hidden_layers=4, backbone_out_indices=[0, 1, 2, 3], fusion_hidden_size=16, is_hybrid=False),
    two_towers("clip"), two_towers("siglip"), two_towers("chinese_clip"), two_towers("blip"), two_towers("owlvit"), two_towers("metaclip_2"),
    vision_model("AutoModelForSemanticSegmentation", "segformer", 64, name="segformer-segmentation", hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 2], decoder_hidden_size=8),
    vision_model("AutoModelForObjectDetection", "yolos", 32, image_size=[32, 32], patch_size=8, num_detection_tokens=4), seen("vitdet", size=32),
    detected("detr", **DETR), detected("conditional_detr", **DETR), detected("deformable_detr", decoder_layers=2, **DETR), detected("rt_detr", encoder_in_channels=[16, 16, 16], encoder_hidden_dim=32, encoder_ffn_dim=48, decoder_in_channels=[32, 32, 32], num_queries=5, anchor_image_size=None),
]
ARCHITECTURES = TIMM + TORCHVISION + TRANSFORMERS
