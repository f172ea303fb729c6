"""Audio models of transformers and torchaudio, streaming ones with their states in buffers."""
import inspect

import torch
from torch import nn

from architecture import N, Architecture, Positional, floats, numbers
from tiny import config

CONVOLUTIONS = {"conv_dim": (16, 16), "conv_kernel": (10, 3), "conv_stride": (5, 2), "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2, "num_feat_extract_layers": 2}
SAMPLES = (400, 320, 480)
WAVE_DIMS = ({1: N},)


def wave(n):
    return (floats(1, n),)


def heard(kind, is_dynamic=True, **own):
    """Of samples of sound."""
    def make():
        import transformers
        return Positional(transformers.AutoModel.from_config(config(kind, **{**CONVOLUTIONS, **own})), ("input_values",))
    return Architecture(kind, "transformers", make, wave, SAMPLES, WAVE_DIMS if is_dynamic else None, recipe=repr((kind, CONVOLUTIONS, own)))


def of_features(kind, shape, name="input_features", auto="AutoModel", sizes=(2, 3, 4), dims=({0: N},), **own):
    """shape: size -> that of the features."""
    def make():
        import transformers
        return Positional(getattr(transformers, auto).from_config(config(kind, **own)), (name,))
    return Architecture(kind, "transformers", make, lambda n: (floats(*shape(n)),), sizes, dims, recipe=repr((kind, auto, shape(3), own)))


def spoken(kind, shape, name="input_features", **own):
    """Sound in, with the tokens so far."""
    def make():
        import transformers
        return Positional(transformers.AutoModelForSpeechSeq2Seq.from_config(config(kind, **own)), (name, "decoder_input_ids"), use_cache=False)
    return Architecture(kind, "transformers", make, lambda n: (floats(*shape), numbers(1, n)), (5, 3, 7), (None, {1: N}), recipe=repr((kind, shape, own)))


TRANSFORMERS = [
    heard("wav2vec2"), heard("hubert"), heard("wavlm", num_buckets=16, max_bucket_distance=32), heard("unispeech"), heard("unispeech-sat"), heard("data2vec-audio", num_conv_pos_embeddings=2, conv_pos_kernel_size=3), heard("sew", is_dynamic=False, squeeze_factor=2),
    heard("sew-d", is_dynamic=False, squeeze_factor=2), heard("wav2vec2-conformer", conv_depthwise_kernel_size=5), of_features("wav2vec2-bert", lambda n: (1, n, 160), sizes=(12, 10, 16), dims=({1: N},), feature_projection_input_dim=160),
    of_features("audio-spectrogram-transformer", lambda n: (n, 32, 16), "input_values", patch_size=8, frequency_stride=8, time_stride=8, max_length=32, num_mel_bins=16),
    spoken("whisper", (1, 8, 40), num_mel_bins=8, max_source_positions=20, max_target_positions=32), spoken("speech_to_text", (1, 40, 8), input_feat_per_channel=8, input_channels=1, conv_channels=16, num_conv_layers=2, max_source_positions=64, max_target_positions=32),
    spoken("moonshine", (1, 2000), "input_values", encoder_num_attention_heads=4, decoder_num_attention_heads=4, encoder_num_key_value_heads=4, decoder_num_key_value_heads=4, encoder_num_hidden_layers=1, decoder_num_hidden_layers=1),
    of_features("encodec", lambda n: (1, 1, n), "input_values", sizes=(640, 640, 640), dims=None, hidden_size=16, num_filters=4, codebook_size=16, codebook_dim=16, upsampling_ratios=[4, 2], num_lstm_layers=1, target_bandwidths=[1.5], sampling_rate=2400),
    of_features("mimi", lambda n: (1, 1, n), "input_values", sizes=(640, 640, 640), dims=None, num_filters=4, codebook_size=16, codebook_dim=8, vector_quantization_hidden_dimension=8, upsampling_ratios=[4, 2], num_quantizers=2, num_semantic_quantizers=1, upsample_groups=32, use_cache=False),
    of_features("dac", lambda n: (1, 1, n), "input_values", sizes=(256, 256, 256), dims=None, encoder_hidden_size=8, downsampling_ratios=[2, 2], upsampling_ratios=[2, 2], decoder_hidden_size=16, n_codebooks=2, codebook_size=16, codebook_dim=4),
    of_features("patchtst", lambda n: (n, 16, 2), "past_values", num_input_channels=2, context_length=16, patch_length=4, patch_stride=4),
    of_features("patchtsmixer", lambda n: (n, 16, 2), "past_values", num_input_channels=2, context_length=16, patch_length=4, patch_stride=4),
]


# ---- torchaudio ----


def audio(name, make, inputs, sizes=(2, 3, 4), dims=None, **options):
    return Architecture(f"torchaudio-{name}", "torchaudio", lambda: Positional(make()), inputs, sizes, dims, recipe=inspect.getsource(make), **options)


def conformer():
    import torchaudio
    return torchaudio.models.Conformer(16, 4, 32, 1, 5)


def emformer():
    import torchaudio
    return torchaudio.models.Emformer(16, 4, 32, 2, segment_length=4, right_context_length=1, left_context_length=4, max_memory_size=2)


class StreamingEmformer(nn.Module):
    """Segment after segment, with the state of each layer in buffers."""

    def __init__(self):
        super().__init__()
        self.model = emformer().eval()
        with torch.no_grad():
            states = self.model.infer(torch.zeros(1, 5, 16), torch.tensor([5]))[2]
        self.shape = [len(layer) for layer in states]
        for i, layer in enumerate(states):
            for k, state in enumerate(layer):
                self.register_buffer(f"state_{i}_{k}", torch.zeros_like(state))

    def forward(self, frames, lengths):
        states = [[getattr(self, f"state_{i}_{k}") for k in range(count)] for i, count in enumerate(self.shape)]
        result, lengths, changed = self.model.infer(frames, lengths, states)
        for i, layer in enumerate(changed):
            for k, state in enumerate(layer):
                getattr(self, f"state_{i}_{k}").copy_(state)
        return result, lengths


def deepspeech():
    import torchaudio
    return torchaudio.models.DeepSpeech(8, 16, 10)


def conv_tasnet():
    import torchaudio
    return torchaudio.models.ConvTasNet(2, 4, 8, 3, 8, 8, 2, 1)


def hdemucs():
    import torchaudio
    return torchaudio.models.HDemucs(["a", "b"], channels=4, depth=3, nfft=64)


def wav2letter():
    import torchaudio
    return torchaudio.models.Wav2Letter(10, "mfcc", 8)


def wavernn():
    import torchaudio
    return torchaudio.models.WaveRNN([2, 2], 4, 4, n_res_block=1, n_rnn=8, n_fc=8, kernel_size=3, n_freq=8, n_hidden=8, n_output=8)


def wav2vec2():
    import torchaudio
    return torchaudio.models.wav2vec2_model("layer_norm", [[16, 10, 5], [16, 3, 2]], False, 16, 0.0, 8, 2, 1, 4, 0.0, 32, 0.0, 0.0, True, 0.0, None)


def predictor():
    import torchaudio
    return torchaudio.models.rnnt._Predictor(20, 16, 12, 1, 16, 0.0, 1e-5)


class StreamingPredictor(nn.Module):
    """A token a call; the LSTM's states in buffers."""

    def __init__(self):
        super().__init__()
        self.model = predictor().eval()
        for k in range(2):
            self.register_buffer(f"state_{k}", torch.zeros(1, 16))

    def forward(self, tokens, lengths):
        result, _, (state,) = self.model(tokens, lengths, [[self.state_0, self.state_1]])
        self.state_0.copy_(state[0])
        self.state_1.copy_(state[1])
        return result


TORCHAUDIO = [
    audio("conformer", conformer, lambda n: (floats(2, n, 16), torch.tensor([n, n])), (8, 6, 11), ({1: N}, None)),
    audio("emformer", emformer, lambda n: (floats(1, 9, 16), torch.tensor([8]))), audio("emformer-streaming", StreamingEmformer, lambda n: (floats(1, 5, 16), torch.tensor([5]))),
    audio("deepspeech", deepspeech, lambda n: (floats(1, 1, n, 8),), (6, 5, 9), ({2: N},), smoke=True), audio("conv_tasnet", conv_tasnet, lambda n: (floats(n, 1, 64),), dims=({0: N},)),
    audio("hdemucs", hdemucs, lambda n: (floats(1, 2, 2048),)), audio("wav2letter", wav2letter, lambda n: (floats(n, 8, 64),), dims=({0: N},)),
    audio("wavernn", wavernn, lambda n: (floats(1, 1, (n - 2) * 4), floats(1, 1, 8, n)), (8, 8, 8)), audio("wav2vec2", wav2vec2, wave, SAMPLES, WAVE_DIMS), audio("rnnt-predictor", StreamingPredictor, lambda n: (numbers(1, 1, high=19), torch.tensor([1]))),
]
ARCHITECTURES = TRANSFORMERS + TORCHAUDIO
