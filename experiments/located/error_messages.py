"""Pydantic's errors in one sentence each: where, what was expected, what was got, and what was probably meant."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from experiments.located.tagged_union import Explains, peel, union_members
from experiments.located.yaml_source import Document, KeyPath, Problem

# Names of the same thing in other well-known programs: suggested, never accepted, so that one thing has one name.
FAMOUS = {
    "lr": "learning_rate learningrate max_lr rate",
    "min_lr": "min_learning_rate lr_min",
    "layers": "n_layer n_layers num_layers num_hidden_layers depth",
    "heads": "n_head n_heads num_heads num_attention_heads",
    "dim": "n_embd n_embed d_model hidden_size embed_dim embedding_dim width dimension model_dim",
    "hidden": "d_ff ffn_dim intermediate_size n_inner ff_dim hidden_dim",
    "block": "block_size seq_len seq_length sequence_length context context_length max_seq_len n_ctx n_positions",
    "batch": "batch_size per_device_train_batch_size micro_batch_size",
    "steps": "max_iters iterations max_steps num_steps iters n_steps train_steps",
    "evaluate_every": "eval_interval eval_every eval_steps",
    "log_every": "log_interval logging_steps",
    "checkpoint_every": "save_interval save_steps checkpoint_interval",
    "warmup": "warmup_steps warmup_iters num_warmup_steps",
    "schedule": "scheduler lr_schedule lr_scheduler_type",
    "weight_decay": "wd decay_weight",
    "clip": "grad_clip max_grad_norm gradient_clip clip_grad",
    "betas": "beta beta1 beta2 adam_beta1 adam_beta2",
    "dropout": "p_drop resid_pdrop attn_pdrop embd_pdrop",
    "activation": "activation_function hidden_act act",
    "position": "positions positional position_embedding pos_emb",
    "kind": "type model_type class",
    "seeds": "seed n_seeds num_seeds",
    "workers": "num_workers n_workers jobs n_jobs",
    "vocab": "vocab_size vocabulary",
    "path": "file filename dataset",
    "dir": "out_dir output_dir out",
    "grid": "sweep sweeps parameters",
    "tokens": "max_new_tokens num_tokens length max_length",
    "training": "train trainer",
    "optimizer": "optim optimiser",
    "init_scale": "near init_std initializer_range",
    "angle_init_scale": "gain",
    "token": "linear",
    "additive": "ngram",
    "rotary": "rope",
    "layer": "layernorm layer_norm ln",
    "rms": "rmsnorm rms_norm",
    "relu2": "relu^2 relu² squared_relu relu_squared",
    "gpt2_style": "gpt2 gpt gpt-2 nanogpt",
    "transformer": "gpt gpt2 classical",
    "char": "chars character characters",
    "byte": "bytes utf8 utf-8",
}
ALIASES: dict[str, list[str]] = {}
for _name, _others in FAMOUS.items():
    for _other in _others.split():
        ALIASES.setdefault(_other, []).append(_name)

EXPECTED = {
    "int_type": "an integer", "int_from_float": "an integer", "int_parsing": "an integer",
    "float_type": "a number", "float_parsing": "a number", "finite_number": "a finite number",
    "bool_type": "true or false", "bool_parsing": "true or false", "string_type": "text",
    "dict_type": "a mapping", "model_type": "a mapping", "dataclass_type": "a mapping",
    "list_type": "a list", "tuple_type": "a list", "set_type": "a list", "none_required": "null",
    "greater_than": "a number greater than {gt}", "greater_than_equal": "a number of at least {ge}",
    "less_than": "a number less than {lt}", "less_than_equal": "a number of at most {le}",
    "multiple_of": "a multiple of {multiple_of}", "string_too_short": "text of at least {min_length} characters",
    "string_too_long": "text of at most {max_length} characters", "too_short": "at least {min_length} of them",
    "too_long": "at most {max_length} of them", "string_pattern_mismatch": "text that matches {pattern}",
}  # fmt: skip


def complaints(
    error: ValidationError, model: type[BaseModel], document: Document
) -> list[tuple[Problem, KeyPath | None]]:
    """One problem an error, each with the path to leave out to check the rest (None: it cannot be left out)."""
    found: list[tuple[Problem, KeyPath | None]] = []
    branches: dict[KeyPath, list[tuple[KeyPath, ErrorDetails]]] = {}
    for detail in error.errors(include_url=False):
        path, owner, union, here = _trace(model, detail["loc"], document.data)
        if detail["type"] == "too_short" and len(_at(document.data, path) or ()) >= detail["ctx"]["min_length"]:
            continue  # pydantic counts the valid items only; the wrong ones have their own sentence
        if union is not None:
            branches.setdefault(union, []).append((path, detail))
        elif detail["type"] in ("union_tag_invalid", "union_tag_not_found"):
            found.append((_unknown_kind(detail, path, union_members(*peel(here)) or {}, document), path or None))
        else:
            found.append(_sentence(detail, path, owner, document))
    for attempts in branches.values():  # of "an integer or a list" report the alternative that went furthest
        deepest = max(len(path) for path, _ in attempts)
        kept = [(path, detail) for path, detail in attempts if len(path) == deepest]
        path = kept[0][0]
        expected = " or ".join(dict.fromkeys(_expected(detail) for _, detail in kept))
        text = f"expected {expected}, got {describe(_at(document.data, path))}"
        found.append((Problem(document.mark(path), path, text), path))
    return found


def suggestion(word: object, options: Iterable[str], near: bool = True) -> str:
    """`` (did you mean 'lr'?)`` or nothing: first the famous other names, then (if ``near``) the nearest spelling."""
    options = list(options)
    lowered = str(word).lower()
    found = [name for name in ALIASES.get(lowered, []) if name in options]
    found = found or [name for name in options if name.lower() == lowered.replace("-", "_")]
    if near and not found:
        found = difflib.get_close_matches(lowered, options, n=1, cutoff=0.6)
    return f" (did you mean '{found[0]}'?)" if found else ""


def describe(value: Any) -> str:
    """A value as the reader of a message knows it from YAML."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else f"{'-' if value < 0 else ''}inf"
    text = str(value) if len(str(value)) <= 60 else f"{str(value)[:57]}..."
    return f"'{text}'" if isinstance(value, str) else text


def choices(options: Iterable[str]) -> str:
    """``'a', 'b' or 'c'``; of nothing, ``there is none``."""
    quoted = [f"'{option}'" for option in options]
    if not quoted:
        return "there is none"
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _sentence(
    detail: ErrorDetails, path: KeyPath, owner: type[BaseModel] | None, document: Document
) -> tuple[Problem, KeyPath | None]:
    """The problem of one error that is not a matter of alternatives."""
    kind, value = detail["type"], _at(document.data, path)
    if kind == "extra_forbidden":
        key, known = str(path[-1]), list(owner.model_fields) if owner else []
        hint = suggestion(key, known, near=False) or (_deeper(key, owner) if owner else "") or suggestion(key, known)
        expected = "a known key" if hint else f"one of the keys {', '.join(known)}"
        return Problem(document.mark(path, of_key=True), path, f"expected {expected}, got '{key}'{hint}"), path
    if kind == "missing":
        text = "expected a value, since it has no default, got nothing"
        return Problem(document.mark(path[:-1], of_key=True), path, text), path[:-1] or None
    if detail["loc"] and detail["loc"][-1] == "[key]":
        text = f"expected a name of letters, digits, spaces and _+-=.,@ only, got {describe(path[-1])}"
        return Problem(document.mark(path, of_key=True), path, text), path
    if kind == "literal_error" and owner is not None and isinstance(path[-1], str):
        options = [str(option) for option in _literals(owner.model_fields[path[-1]].annotation)]
        text = f"expected {choices(options)}, got {describe(value)}{suggestion(value, options)}"
        return Problem(document.mark(path), path, text), path
    hint = ""
    if kind in ("int_type", "int_from_float") and isinstance(value, float) and value.is_integer():
        hint = f" (did you mean {int(value)}?)"
    elif kind == "bool_type" and str(value).lower() in ("yes", "on", "no", "off"):
        hint = f" (did you mean {'true' if str(value).lower() in ('yes', 'on') else 'false'}?)"
    elif kind in ("int_type", "float_type", "bool_type") and isinstance(value, str) and _looks_plain(value):
        hint = f" as text (did you mean {value} without quotes?)"
    elif kind == "string_type" and value is not None and not isinstance(value, (list, dict)):
        hint = f" (did you mean '{describe(value)}' in quotes?)"
    return Problem(
        document.mark(path), path, f"expected {_expected(detail)}, got {describe(value)}{hint}"
    ), path or None


def _expected(detail: ErrorDetails) -> str:
    template = EXPECTED.get(detail["type"])
    if template is None:
        message = detail["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
        return message[:1].lower() + message[1:]
    context = {key: f"{value:g}" if isinstance(value, float) else value for key, value in detail.get("ctx", {}).items()}
    return template.format(**context)


def _unknown_kind(detail: ErrorDetails, path: KeyPath, options: Iterable[str], document: Document) -> Problem:
    """An unknown or a missing discriminator, such as ``kind: gtp``."""
    key = str(detail.get("ctx", {}).get("discriminator", "'kind'")).strip("'")
    full, parent = (*path, key), _at(document.data, path)
    written = isinstance(parent, dict) and key in parent
    value = _at(document.data, full)
    why = options.why_not(value) if isinstance(options, Explains) else ""
    if why:
        return Problem(document.mark(full), full, why)
    got = describe(value) + suggestion(value, options) if written else "nothing"
    other = (
        next((name for name in ALIASES if key in ALIASES[name] and name in parent), "")
        if isinstance(parent, dict)
        else ""
    )
    hint = f" (did you mean '{key}' for '{other}'?)" if other and not written else ""
    return Problem(document.mark(full, of_key=not written), full, f"expected {choices(options)}, got {got}{hint}")


def _deeper(key: str, owner: type[BaseModel]) -> str:
    """A key written one level too high: ``lr`` beside ``optimizer`` instead of inside it."""
    for name, info in owner.model_fields.items():
        for part in (info.annotation, *get_args(info.annotation)):
            if isinstance(part, type) and issubclass(part, BaseModel):
                inner = (
                    key
                    if key in part.model_fields
                    else next((a for a in ALIASES.get(key, []) if a in part.model_fields), None)
                )
                if inner:
                    return f" (did you mean '{name}.{inner}'?)"
    return ""


def _literals(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return tuple(option for part in get_args(annotation) for option in _literals(part))


def _looks_plain(text: str) -> bool:
    if text in ("true", "false"):
        return True
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _at(data: Any, path: KeyPath) -> Any:
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _trace(
    model: Any, loc: Iterable[int | str], data: Any
) -> tuple[KeyPath, type[BaseModel] | None, KeyPath | None, Any]:
    """Follow pydantic's location through the types: it names union members, which are no keys of the file.

    Returns the path in the file, the model that owns its last key, where a choice between alternatives without a
    discriminator was made (if one was), and the type at the end.
    """
    path: list[str | int] = []
    owner: type[BaseModel] | None = None
    union: KeyPath | None = None
    here: Any = model
    for part in loc:
        if part == "[key]":
            break
        here, metadata = peel(here)
        members = union_members(here, metadata)
        if members is not None:
            here, owner = members.get(str(part)), None
        elif isinstance(here, type) and issubclass(here, BaseModel):
            path, owner = [*path, part], here
            info = here.model_fields.get(str(part))
            here = Annotated[(info.annotation, *info.metadata, info)] if info else None
        elif get_origin(here) is dict:
            path, owner, here = [*path, part], None, get_args(here)[1]
        elif get_origin(here) in (list, tuple, set) and isinstance(part, int):
            arguments = get_args(here)
            path, owner, here = (
                [*path, part],
                None,
                arguments[min(part, len(arguments) - 1) if arguments[-1] is not Ellipsis else 0],
            )
        else:  # alternatives without a discriminator: what follows is their label, or a key of the data
            if union is None:
                union = tuple(path)
            value = _at(data, tuple(path))
            if (isinstance(part, int) and isinstance(value, list)) or (isinstance(value, dict) and part in value):
                path = [*path, part]
            here = None
    return tuple(path), owner, union, here
