"""Counting parameters and operations from the shape alone, as the seed text does for a model of seven billion.

The Shape of the Probable, part 3, "Counting the parameters" and "Training".
"""

from classical.config import TransformerConfig

GROUPS = ("embedding", "position", "attention", "feedforward", "norm", "head")


def rule_of_thumb(layers: int, dim: int, vocab: int) -> int:
    """N ≈ 12Ld² + |V|d: four d×d attention matrices and two d×4d feed-forward ones a block, one embedding."""
    return 12 * layers * dim**2 + vocab * dim


def count_parameters(config: TransformerConfig) -> dict[str, int]:
    """Exact number of parameters per group (`GROUPS`), by arithmetic: nothing is allocated. Tied weights count once."""
    dim, hidden, layers = config.dim, config.ffn_hidden, config.layers
    up = 2 * hidden if config.activation == "swiglu" else hidden
    norms = 2 * layers + (config.norm_position == "pre")
    return {
        "embedding": config.ngram * config.vocab * dim,
        "position": config.block * dim if config.position == "learned" else 0,
        "attention": layers * (4 * dim**2 + config.bias * 4 * dim),
        "feedforward": layers * (dim * up + hidden * dim + config.bias * (up + dim)),
        "norm": norms * dim * (2 if config.bias and config.norm == "layer" else 1),
        "head": 0 if config.tie else config.vocab * dim,
    }


def flops_per_token(config: TransformerConfig, length: int) -> int:
    """Forward operations of the matrix products per token, averaged over a text of ``length`` tokens.

    A multiply-add is 2. Causal attention counts as the full length × length product that the hardware does. Norms,
    activations, softmax and the embedding lookup are not matrix products and are not counted. Raises ValueError for a
    length below 1.
    """
    if length < 1:
        raise ValueError(f"length must be at least 1 token, got {length}")
    dim, hidden = config.dim, config.ffn_hidden
    up = 2 * hidden if config.activation == "swiglu" else hidden
    per_layer = 4 * dim**2 + dim * up + hidden * dim + 2 * length * dim
    return 2 * (config.layers * per_layer + config.vocab * dim)


def kv_cache_numbers(config: TransformerConfig, length: int) -> int:
    """Numbers kept for one text of ``length`` tokens: a key and a value of d components per layer and token."""
    return 2 * config.layers * length * config.dim


def kaplan_loss(parameters: float | int, critical: float | int = 8.8e13, exponent: float | int = 0.076) -> float:
    """L(N) ≈ (N_c/N)^α_N in nats per token: an empirical fit (Kaplan et al. 2020, Eq. 1.1), not a law.

    Raises ValueError unless the parameters are positive.
    """
    if parameters <= 0:
        raise ValueError(f"parameters must be positive, got {parameters}")
    return (critical / parameters) ** exponent


def compute_optimal_tokens(parameters: float | int, tokens_per_parameter: float | int = 20.0) -> float:
    """Training tokens that a compute budget is best spent on, about twenty a parameter (Hoffmann et al. 2022)."""
    return tokens_per_parameter * parameters
