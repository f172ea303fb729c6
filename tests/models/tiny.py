"""Tiny configurations of transformers: small numbers for whatever of these a configuration has, then an architecture's own."""
SMALL = {
    "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 48,
    "vocab_size": 97, "max_position_embeddings": 64, "type_vocab_size": 2, "head_dim": 8, "embedding_size": 16,
    "num_local_experts": 4, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "n_routed_experts": 4,
    "n_group": 1, "topk_group": 1, "n_shared_experts": 1, "shared_expert_intermediate_size": 24, "first_k_dense_replace": 0,
    "kv_lora_rank": 8, "q_lora_rank": 12, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8, "sliding_window": 8,
    "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "d_ff": 48, "d_kv": 8, "num_layers": 1, "num_decoder_layers": 1, "num_heads": 4,
    "ffn_dim": 48, "state_size": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "sep_token_id": 2,
    "decoder_start_token_id": 1, "word_embed_proj_dim": 32, "rotary_dim": 4,
}

LEFT_OUT = "left out"


def config(kind, **own):
    """transformers' configuration of this model type; what it is not to be given is LEFT_OUT."""
    from transformers import CONFIG_MAPPING
    found = CONFIG_MAPPING[kind]
    standard = found()
    small = {name: number for name, number in SMALL.items() if hasattr(standard, name)}
    return found(**{name: value for name, value in {**small, **own}.items() if value is not LEFT_OUT})


def model(auto, kind, **own):
    """make of an Architecture: the model that transformers' class AUTO has for this type."""
    def make():
        import transformers
        return getattr(transformers, auto).from_config(config(kind, **own))
    return make
