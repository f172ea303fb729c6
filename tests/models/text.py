"""Encoders, decoders without a cache and sequence-to-sequence models of transformers."""
from architecture import N, Architecture, Positional, numbers
from tiny import LEFT_OUT, model

LENGTHS = (7, 5, 10)


def text_model(auto, kind, names=("input_ids",), name=None, is_dynamic=True, lengths=LENGTHS, always=(), **own):
    """Tokens in, all of the names alike."""
    make = model(auto, kind, **own)
    return Architecture(name or kind, "transformers", lambda: Positional(make(), names, **dict(always)),
                        lambda n: tuple(numbers(2, n) for _ in names), lengths, ({1: N},) * len(names) if is_dynamic else None,
                        recipe=repr((auto, kind, names, always, own)))


def encoder(kind, **options):
    return text_model("AutoModel", kind, **options)


def decoder(kind, **options):
    return text_model("AutoModelForCausalLM", kind, always={"use_cache": False}, **options)


def translator(kind, **options):
    return text_model("AutoModelForSeq2SeqLM", kind, ("input_ids", "decoder_input_ids"), always={"use_cache": False}, **options)


ENCODERS = [
    encoder("albert"), encoder("bert"), encoder("big_bird", attention_type="original_full"), encoder("camembert"), encoder("canine"), encoder("convbert"),
    encoder("data2vec-text"), encoder("deberta"), encoder("deberta-v2"), encoder("distilbert", dim=32, hidden_dim=48, n_heads=4, n_layers=1),
    encoder("electra"), encoder("ernie"), encoder("esm"), encoder("eurobert"), encoder("flaubert", emb_dim=32, n_layers=1, n_heads=4),
    encoder("fnet"), encoder("funnel", architectures=["FunnelModel"], num_hidden_layers=LEFT_OUT, block_sizes=[1, 1], d_inner=48, n_head=4), encoder("ibert"), encoder("layoutlm"), encoder("lilt", hidden_size=48), encoder("longformer", attention_window=4),
    encoder("luke", entity_vocab_size=20, entity_emb_size=16), encoder("markuplm"), encoder("megatron-bert"), encoder("mobilebert", intra_bottleneck_size=16, embedding_size=16),
    encoder("modernbert"), encoder("mpnet"), encoder("mra"), encoder("nomic_bert"), encoder("nystromformer", segment_means_seq_len=4, num_landmarks=4),
    encoder("rembert", input_embedding_size=16, output_embedding_size=16), encoder("roberta"), encoder("roberta-prelayernorm"), encoder("roc_bert", pronunciation_vocab_size=20, shape_vocab_size=20, pronunciation_embed_dim=8, shape_embed_dim=8),
    encoder("roformer"), encoder("splinter"), encoder("squeezebert", embedding_size=32), encoder("xlm", emb_dim=32, n_layers=1, n_heads=4),
    encoder("xlm-roberta"), encoder("xlm-roberta-xl"), encoder("xlnet", max_position_embeddings=LEFT_OUT, d_inner=48, n_head=4, n_layer=1), encoder("xmod", languages=["en_XX"], default_language="en_XX"), encoder("yoso"),
]
DECODERS = [
    decoder("apertus"), decoder("arcee"), decoder("bamba", num_hidden_layers=2, mamba_n_heads=4, mamba_d_head=16, mamba_d_state=8, mamba_n_groups=1, attn_layer_indices=[1]),
    decoder("biogpt"), decoder("bitnet"), decoder("bloom"), decoder("codegen", n_embd=32, n_layer=1, n_head=4), decoder("cohere"), decoder("cohere2"), decoder("ctrl", n_embd=32, dff=48, n_layer=1, n_head=4),
    decoder("deepseek_v2", head_dim=LEFT_OUT, num_key_value_heads=4), decoder("deepseek_v3", head_dim=LEFT_OUT, num_key_value_heads=4), decoder("diffllama"), decoder("doge"), decoder("dots1"), decoder("ernie4_5"), decoder("ernie4_5_moe"),
    decoder("exaone4"), decoder("falcon", head_dim=LEFT_OUT), decoder("flex_olmo"), decoder("gemma"), decoder("gemma2"), decoder("gemma3_text"), decoder("glm"), decoder("glm4"), decoder("glm4_moe"),
    decoder("gpt2"), decoder("gpt_bigcode"), decoder("gpt_neo", attention_types=[[["global", "local"], 1]], num_layers=2, num_hidden_layers=2, window_size=4), decoder("gpt_neox"),
    decoder("gpt_oss"), decoder("gptj"), decoder("granite"), decoder("granitemoe"), decoder("granitemoeshared"),
    decoder("helium"), decoder("hunyuan_v1_dense"), decoder("hunyuan_v1_moe"), decoder("jamba", num_hidden_layers=2, attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1, mamba_d_state=8, mamba_dt_rank=4, use_mamba_kernels=False),
    decoder("jetmoe", kv_channels=8), decoder("lfm2", num_hidden_layers=2, layer_types=["conv", "full_attention"]), decoder("llama"), decoder("llama4_text"), decoder("minimax"),
    decoder("ministral"), decoder("mistral"), decoder("mixtral"), decoder("moshi"), decoder("mpt", d_model=32, n_heads=4, n_layers=1), decoder("nanochat"), decoder("nemotron"),
    decoder("olmo"), decoder("olmo2"), decoder("olmo3"), decoder("olmoe"), decoder("openai-gpt", n_embd=32, n_layer=1, n_head=4), decoder("opt"), decoder("persimmon"), decoder("phi"), decoder("phi3"), decoder("phimoe"),
    decoder("qwen2"), decoder("qwen2_moe"), decoder("qwen3"), decoder("qwen3_moe"), decoder("qwen3_next", num_hidden_layers=2, layer_types=["linear_attention", "full_attention"], linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=8),
    decoder("reformer", attn_layers=["local", "local"], axial_pos_embds=False, local_attn_chunk_length=4, is_decoder=True, is_dynamic=False, lengths=(8, 8, 8)),
    decoder("seed_oss"), decoder("smollm3"), decoder("stablelm"), decoder("starcoder2"), decoder("vaultgemma"), decoder("xglm"), decoder("zamba2", num_hidden_layers=2, layers_block_type=["linear_attention", "hybrid"], mamba_d_state=8, mamba_headdim=16, mamba_ngroups=1, n_mamba_heads=4, num_mem_blocks=1),
]
TRANSLATORS = [
    translator("bart"), translator("bigbird_pegasus", attention_type="original_full"), translator("blenderbot"), translator("blenderbot-small"), translator("fsmt", src_vocab_size=97, tgt_vocab_size=97),
    translator("led", attention_window=4, max_encoder_position_embeddings=64, max_decoder_position_embeddings=64), translator("longt5"), translator("m2m_100"), translator("marian"), translator("mbart"), translator("mt5"),
    translator("nllb-moe", num_experts=4), translator("pegasus"), translator("pegasus_x", block_size=4, num_global_tokens=2), translator("plbart"), translator("prophetnet", num_hidden_layers=LEFT_OUT, num_encoder_layers=1, num_encoder_attention_heads=4, num_decoder_attention_heads=4),
    translator("switch_transformers", num_experts=4, num_layers=2, num_decoder_layers=2, num_sparse_encoder_layers=1, num_sparse_decoder_layers=1), translator("t5"), translator("umt5"),
]
ARCHITECTURES = ENCODERS + DECODERS + TRANSLATORS
