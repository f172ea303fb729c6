"""Text models with a state: static caches, state space models and recurrent ones of transformers, a token or a few a call."""
import torch
from torch import nn

from architecture import N, Architecture, numbers
from tiny import LEFT_OUT, model

LENGTH = 16  # of a cache


def tensors_of(layer):
    """Where a layer of a cache keeps its tensors: (its dictionary, key)."""
    own = vars(layer)
    found = [(own, name) for name, value in own.items() if isinstance(value, torch.Tensor)]
    for table in (value for value in own.values() if isinstance(value, dict)):
        found += [(table, key) for key, value in table.items() if isinstance(value, torch.Tensor)]
    return found


def states_of(model, cache):
    """Of the layers of a cache, and of models that keep their states themselves."""
    found = [place for layer in cache.layers for place in tensors_of(layer)]
    own = [(vars(module), name) for module in model.modules() for name in vars(module) if "state" in name]
    return found + [(table, name) for table, name in own if isinstance(table[name], torch.Tensor)]


def static_cache(config):
    """A layer that keeps a window has control flow that isn't exported, and is replaced as transformers does when it exports."""
    from transformers.cache_utils import StaticCache, StaticLayer, StaticSlidingWindowLayer
    cache = StaticCache(config=config, max_cache_len=LENGTH)
    cache.layers = [StaticLayer(LENGTH) if isinstance(layer, StaticSlidingWindowLayer) else layer for layer in cache.layers]
    return cache


class Cached(nn.Module):
    """A decoder whose cache is in buffers, of zeros at first."""

    def __init__(self, model):
        super().__init__()
        self.model, self.cache = model.eval(), static_cache(model.config)
        if hasattr(model.base_model, "_setup_cache"):
            model.base_model._setup_cache(model.config, 1, "cpu", torch.float32)
        with torch.no_grad():  # the first call makes the tensors
            self.model(input_ids=numbers(1, 1), cache=self.cache, use_cache=True)
        self.states = [(f"state_{i}", *place) for i, place in enumerate(states_of(self.model, self.cache))]
        for name, table, key in self.states:
            self.register_buffer(name, torch.zeros_like(table[key]))

    def forward(self, tokens):
        for name, table, key in self.states:
            table[key] = getattr(self, name)
        logits = self.model(input_ids=tokens, cache=self.cache, use_cache=True).logits
        for name, table, key in self.states:
            if table[key] is not getattr(self, name):
                getattr(self, name).copy_(table[key])
            table[key] = None
        return logits


class Listed(nn.Module):
    """A recurrent model that takes its state as a list and gives a new one."""

    def __init__(self, model):
        super().__init__()
        self.model = model.eval()
        with torch.no_grad():
            states = self.model(input_ids=numbers(1, 1), use_cache=True).state
        for i, state in enumerate(states):
            self.register_buffer(f"state_{i}", state.clone())
        self.count = len(states)

    def forward(self, tokens):
        states = [getattr(self, f"state_{i}").clone() for i in range(self.count)]
        result = self.model(input_ids=tokens, state=states, use_cache=True)
        for i, state in enumerate(result.state):
            getattr(self, f"state_{i}").copy_(state)
        return result.logits


def cached(kind, wrapper=Cached, is_dynamic=False, smoke=False, **own):
    """One token a call; a dynamic program takes several."""
    make = model("AutoModelForCausalLM", kind, **{"num_hidden_layers": 2, **own})
    return Architecture(f"{kind}-cached", "transformers", lambda: wrapper(make()), lambda n: (numbers(1, n),), (1, 1, 1) if not is_dynamic else (3, 4, 2),
                        ({1: N},) if is_dynamic else None, smoke=smoke, recipe=repr((kind, wrapper.__name__, own)))


def exported_cache(kind, **own):
    """As transformers itself prepares a decoder for export, which traces the bytecode."""
    make = model("AutoModelForCausalLM", kind, **{"num_hidden_layers": 2, **own})

    def made():
        from transformers.integrations.executorch import TorchExportableModuleWithStaticCache
        decoder = make()
        decoder.generation_config.use_cache, decoder.generation_config.cache_implementation = True, "static"
        return Positions(TorchExportableModuleWithStaticCache(decoder, batch_size=1, max_cache_len=LENGTH))
    return Architecture(f"{kind}-executorch", "transformers", made, positions, (3, 4, 2), ({1: N}, {0: N}), by_call=True, strict=True,
                        recipe=repr((kind, own)))


class Positions(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens, positions):
        return self.model(input_ids=tokens, cache_position=positions)


def positions(n, call):
    return numbers(1, n), torch.arange(n) + 4 * call


class Translator(nn.Module):
    """The decoder of a sequence-to-sequence model with a static cache, as transformers prepares it for export."""

    def __init__(self, model):
        from transformers.integrations.executorch import Seq2SeqLMDecoderExportableModuleWithStaticCache
        super().__init__()
        self.decoder = Seq2SeqLMDecoderExportableModuleWithStaticCache(model, LENGTH, 1)

    def forward(self, tokens, encoded, positions):
        return self.decoder(tokens, encoded, positions)


def seq2seq_cached(kind, **own):
    make = model("AutoModelForSeq2SeqLM", kind, **own)
    return Architecture(f"{kind}-cached", "transformers", lambda: Translator(make()), encoded, by_call=True, strict=True,
                        recipe=repr((kind, own)))


def encoded(_, call):
    """One text in all calls: what is made of it stays in the cache."""
    return numbers(1, 1), torch.randn(1, 7, 32, generator=torch.Generator().manual_seed(7)), torch.tensor([call])


MAMBA = {"state_size": 8, "time_step_rank": 4, "num_heads": 8, "head_dim": 8, "n_groups": 1, "chunk_size": 8}
ARCHITECTURES = [
    cached("llama", is_dynamic=True, smoke=True), cached("qwen3"), cached("gemma2"), cached("gemma3_text"), cached("mistral"), cached("phi3"), cached("gpt_neox"),
    cached("olmo2"), cached("gpt_oss"), cached("mixtral"), cached("qwen3_moe"), cached("olmoe"), cached("deepseek_v3", head_dim=LEFT_OUT, num_key_value_heads=4), cached("cohere2"), cached("smollm3"),
    cached("mamba", state_size=8, time_step_rank=4, smoke=True), cached("mamba2", **MAMBA), cached("falcon_mamba", state_size=8, time_step_rank=4),
    cached("rwkv", Listed, attention_hidden_size=32), cached("jamba", attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1, mamba_d_state=8, mamba_dt_rank=4, use_mamba_kernels=False),
    cached("bamba", mamba_n_heads=4, mamba_d_head=16, mamba_d_state=8, mamba_n_groups=1, attn_layer_indices=[1]), cached("lfm2", layer_types=["conv", "full_attention"]),
    cached("qwen3_next", layer_types=["linear_attention", "full_attention"], linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=8),
    cached("zamba2", layers_block_type=["linear_attention", "hybrid"], mamba_d_state=8, mamba_headdim=16, mamba_ngroups=1, n_mamba_heads=4, num_mem_blocks=1), cached("falcon_h1", mamba_d_ssm=32, mamba_n_heads=4, mamba_d_head=8, mamba_d_state=8, mamba_n_groups=1),
    cached("granitemoehybrid", layer_types=["mamba", "attention"], mamba_n_heads=4, mamba_d_head=16, mamba_d_state=8, mamba_n_groups=1),
    cached("recurrent_gemma", block_types=["recurrent", "attention"], lru_width=32, attention_window_size=8),
    exported_cache("llama"), exported_cache("qwen2"), exported_cache("granite"),
    seq2seq_cached("t5"), seq2seq_cached("bart"),
]
