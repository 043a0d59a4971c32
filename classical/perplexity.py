"""How surprised a model is: nats, bits, perplexity, and what training can and cannot reduce.

The unit of loss is nats per token throughout. The Shape of the Probable, part 3, "Training" and "Where the plausible
and the true part ways"; lecture notes "Large Language Models", section 3.2.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor


def token_nats(log_probs: Float[Tensor, "*batch vocab"], targets: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """−log P(target), for each target, in nats."""
    return -log_probs.gather(-1, targets[..., None])[..., 0]


def cross_entropy(log_probs: Float[Tensor, "*batch vocab"], targets: Int[Tensor, "*batch"]) -> Float[Tensor, ""]:
    """L = −(1/N) Σ_k log P(t_k | t_<k), nats per token (part 3, "Training")."""
    return token_nats(log_probs, targets).mean()


def text_log_probability(log_probs: Float[Tensor, "time vocab"], targets: Int[Tensor, " time"]) -> Float[Tensor, ""]:
    """log P(t_1 … t_n) = Σ_k log P(t_k | t_<k): the chain rule (part 3, "Autoregression")."""
    return -token_nats(log_probs, targets).sum()


def cross_entropy_gradient(
    logits: Float[Tensor, "*batch vocab"], targets: Int[Tensor, "*batch"]
) -> Float[Tensor, "*batch vocab"]:
    """∂ℓ/∂z_i = p_i − 1[i = y] for each row's own loss: predicted minus true (part 3, "Training")."""
    return logits.softmax(-1) - torch.nn.functional.one_hot(targets, logits.shape[-1])


def perplexity(nats: float | int) -> float:
    """PPL = exp(L): the effective number of options at each step."""
    return math.exp(nats)


def bits(nats: float | int) -> float:
    """The same loss in bits: nats / ln 2."""
    return nats / math.log(2)


def entropy(probs: Float[Tensor, "*batch vocab"]) -> Float[Tensor, "*batch"]:
    """H(p) = −Σ p log p in nats, with 0 log 0 = 0."""
    return torch.special.entr(probs).sum(-1)


def distribution_perplexity(probs: Float[Tensor, "*batch vocab"]) -> Float[Tensor, "*batch"]:
    """PP[p] = exp H(p): N for N equally likely tokens (lecture notes, section 3.2)."""
    return entropy(probs).exp()


def kl_divergence(p: Float[Tensor, "*batch vocab"], q: Float[Tensor, "*batch vocab"]) -> Float[Tensor, "*batch"]:
    """D(p‖q) = Σ p log(p/q) in nats; infinite where q gives 0 to what p does not.

    E_p[−log q] = H(p) + D(p‖q): training can reduce the second term only.
    """
    return (torch.special.xlogy(p, p) - torch.special.xlogy(p, q)).sum(-1)


def power_law_perplexity(exponent: float | int = 1.5) -> float:
    """exp H of p_n = n^(−s)/ζ(s) over all n ≥ 1: a long tail. s = 3/2 gives 25 (lecture notes, section 3.2).

    H = log ζ(s) − s ζ'(s)/ζ(s) holds the whole tail; a sum cut off at n = 10⁶ is still 0.017 nats short. Raises
    ValueError unless s is above 1.
    """
    if not exponent > 1:
        raise ValueError(f"the exponent must be above 1 for the probabilities to have a sum, got {exponent!r}")
    from mpmath import zeta

    value, slope = zeta(exponent), zeta(exponent, 1, 1)
    return float(value * math.e ** (-exponent * slope / value))
