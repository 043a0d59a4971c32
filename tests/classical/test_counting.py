"""Published parameter counts, reproduced from the configuration alone."""

import pytest
import torch

from classical import Transformer, gpt2_style, llama
from classical.counting import (
    compute_optimal_tokens,
    count_parameters,
    flops_per_token,
    kaplan_loss,
    kv_cache_numbers,
    rule_of_thumb,
)


def test_llama_7b_is_an_arithmetic_consequence_of_three_numbers():
    """6 738 415 616 parameters: the published size of LLaMA-7B (Touvron et al. 2023, Table 2: 6.7B)."""
    config = llama(32_000, 2048, dim=4096, layers=32, heads=32)
    assert config.ffn_hidden == 11_008  # the published intermediate size
    assert sum(count_parameters(config).values()) == 6_738_415_616
    assert pytest.approx(6.44e9, rel=1e-3) == 12 * 32 * 4096**2  # part 3, "Counting the parameters"
    assert pytest.approx(1.3e8, rel=0.01) == 32_000 * 4096
    thumb = rule_of_thumb(32, 4096, 32_000) + 32_000 * 4096
    assert thumb == pytest.approx(6.7e9, rel=0.01)
    assert thumb == pytest.approx(6_738_415_616, rel=0.006)


def test_llama_13b_hidden_width():
    assert llama(32_000, 2048, dim=5120, layers=40, heads=40).ffn_hidden == 13_824  # published


@pytest.mark.parametrize(
    ("layers", "dim", "heads", "published"),
    [(12, 768, 12, 124_439_808), (24, 1024, 16, 354_823_168), (48, 1600, 25, 1_557_611_200)],
)
def test_gpt2_sizes(layers: int, dim: int, heads: int, published: int):
    """The sizes of OpenAI's released GPT-2 checkpoints (with biases)."""
    config = gpt2_style(50_257, 1024, dim=dim, layers=layers, heads=heads, bias=True)
    assert sum(count_parameters(config).values()) == published


def test_counting_needs_no_memory_and_agrees_with_a_model_that_has_none():
    config = gpt2_style(50_257, 1024, dim=1600, layers=48, heads=25, bias=True)
    with torch.device("meta"):
        model = Transformer(config)
    assert sum(p.numel() for p in model.parameters()) == 1_557_611_200


def test_nanogpt_cpu_recipe_has_the_size_it_prints():
    """nanoGPT prints 0.80M for this recipe (it leaves out the position table)."""
    counts = count_parameters(gpt2_style(65, 64))
    assert (sum(counts.values()) - counts["position"]) / 1e6 == pytest.approx(0.80, abs=0.005)
    assert rule_of_thumb(4, 128, 65) == counts["attention"] + counts["feedforward"] + counts["embedding"]


def test_doubling_the_text_quadruples_attention():
    config = gpt2_style(65, 4096)
    base = flops_per_token(config, 1) - (flops_per_token(config, 2) - flops_per_token(config, 1))

    def attention_flops(n: int) -> int:
        return n * (flops_per_token(config, n) - base)

    assert attention_flops(2048) == 4 * attention_flops(1024)
    with pytest.raises(ValueError, match="length must be at least 1"):
        flops_per_token(config, 0)


def test_six_flops_a_parameter():
    """Kaplan et al. 2020: about 2N forward operations a token, without the attention term."""
    config = llama(32_000, 2048, dim=4096, layers=32, heads=32)
    matrices = sum(count_parameters(config)[g] for g in ("attention", "feedforward", "head"))
    assert flops_per_token(config, 1) == pytest.approx(2 * matrices, rel=1e-4)


def test_a_prompt_of_a_thousand_tokens_is_four_million_numbers():
    assert pytest.approx(4e6, rel=0.03) == 1000 * 4096  # part 3, "The prompt is a matrix"
    config = llama(32_000, 2048, dim=4096, layers=32, heads=32)
    assert kv_cache_numbers(config, 2048) * 2 == 2**30  # LLaMA-7B in 16 bit: 1 GiB a full context


def test_scaling_laws_at_published_points():
    assert kaplan_loss(8.8e13) == 1
    assert kaplan_loss(1e9) / kaplan_loss(2e9) == pytest.approx(2**0.076)
    assert compute_optimal_tokens(70e9) == pytest.approx(1.4e12)  # Chinchilla: 70B parameters, 1.4T tokens
    with pytest.raises(ValueError, match="parameters must be positive"):
        kaplan_loss(0)
