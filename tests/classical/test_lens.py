"""The logit lens: its last row is the model, its first row is the bigram-like reading of bare embeddings."""

import pytest
import torch

from classical import PRESETS, Transformer, TransformerConfig
from classical.lens import half_steps, logit_lens, relative_steps, residual_stream


@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize("norm_position", ["pre", "post"])
@pytest.mark.parametrize("position", ["learned", "rotary"])
def test_last_layer_equals_the_model(norm: str, norm_position: str, position: str):
    config = TransformerConfig(
        7, 5, dim=8, layers=3, heads=2, norm=norm, norm_position=norm_position, position=position
    )
    model = Transformer(config, torch.Generator().manual_seed(0)).double()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn(p.shape, generator=generator, dtype=torch.float64))
    tokens = torch.randint(7, (2, 5), generator=generator)
    lens = logit_lens(model, tokens)
    assert lens.shape == (4, 2, 5, 7)
    assert torch.equal(lens[-1], model(tokens))
    assert torch.equal(lens[0], model.read(model.embed(tokens)))
    assert (lens[1] - lens[-1]).abs().max() > 1e-3


def test_blocks_that_start_at_zero_do_not_move_the_stream():
    model = Transformer(PRESETS["modern"](7, 5, dim=8, layers=3, heads=2), torch.Generator().manual_seed(0))
    stream = residual_stream(model, torch.zeros(1, 5, dtype=torch.int64))
    assert torch.all(relative_steps(stream) == 0)


def test_relative_steps_by_hand():
    stream = torch.tensor([[[[3.0, 4.0]]], [[[3.0, 5.0]]]])
    assert relative_steps(stream).item() == pytest.approx(0.2)


def test_tied_lens_reads_back_the_token_it_was_given():
    """Lecture notes 3.4: with tied embedding, an embedding that nothing moved is read as its own token."""
    config = TransformerConfig(50, 4, dim=64, layers=2, position="none", zero_init=True, init_std=1.0)
    model = Transformer(config, torch.Generator().manual_seed(0))
    tokens = torch.arange(48).reshape(12, 4)
    for layer in logit_lens(model, tokens):
        assert torch.equal(layer.argmax(-1), tokens)


def test_half_blocks_add_up_to_blocks_and_post_norm_is_refused():
    config = TransformerConfig(7, 5, dim=8, layers=2, heads=2, init_std=0.5)
    model = Transformer(config, torch.Generator().manual_seed(0)).double()
    tokens = torch.randint(7, (2, 5), generator=torch.Generator().manual_seed(1))
    steps, stream = half_steps(model, tokens), residual_stream(model, tokens)
    assert steps.shape == (4, 2, 5)
    attended = model.blocks[1].attention(model.blocks[1].attention_norm(stream[1]))
    fed = stream[2] - stream[1] - attended
    torch.testing.assert_close(steps[2], attended.norm(dim=-1) / stream[1].norm(dim=-1))
    torch.testing.assert_close(steps[3], fed.norm(dim=-1) / (stream[1] + attended).norm(dim=-1))
    with pytest.raises(ValueError, match="post-norm"):
        half_steps(Transformer(TransformerConfig(7, 5, dim=8, layers=1, heads=2, norm_position="post")), tokens)
