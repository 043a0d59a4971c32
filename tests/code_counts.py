"""What the code says about itself, counted: ``python -m tests.code_counts`` prints a table by package.

documented: public functions and methods with a docstring (an override may have its base's);
shaped: of those that take or return tensors or arrays, the ones whose axes are all named (jaxtyping);
raising: of those with a ``raise`` of their own, the ones whose docstring says so.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

PACKAGES = ("qattn.core", "qattn.lm", "qattn.circuits", "classical", "contexts", "contexts.packing", "experiments")
AXES = r"(?:' *[^']*'|\" *[^\"]*\")"
SHAPED = re.compile(rf"\b(?:(?:Float|Int|UInt|Complex)\d*|Shaped|Bool|Num|Inexact|Real|Integer)\[[^\[\]]*?, *{AXES}\]")
PLAIN = re.compile(r"\b(?:Tensor|ndarray)\b")


@dataclass
class Count:
    """Public functions of a package, and the names of those that miss something."""

    functions: int = 0
    arrays: int = 0
    raisers: int = 0
    undocumented: list[str] = field(default_factory=list)
    unshaped: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)


def public(package: str) -> Iterator[tuple[str, Callable[..., object], str]]:
    """Name, function and documentation of every public function and method written in a package."""
    top = importlib.import_module(package)
    for info in pkgutil.walk_packages(top.__path__, package + "."):
        module = importlib.import_module(info.name)
        for name, found in list(vars(module).items()):
            if name.startswith("_") or getattr(found, "__module__", None) != module.__name__:
                continue
            if inspect.isfunction(found):
                yield f"{info.name}.{name}", found, inspect.getdoc(found) or ""
            elif inspect.isclass(found):
                for key, member in list(vars(found).items()):
                    function = _function(member)
                    if function is not None and not key.startswith("_") and function.__module__ == module.__name__:
                        documented = inspect.getdoc(getattr(found, key)) or inspect.getdoc(member) or ""
                        yield f"{info.name}.{name}.{key}", function, documented


def _function(member: object) -> Callable[..., object] | None:
    inner = (
        member.fget if isinstance(member, property) else getattr(member, "func", getattr(member, "__func__", member))
    )
    inner = inspect.unwrap(inner) if callable(inner) else inner
    return inner if inspect.isfunction(inner) else None


def annotations(function: Callable[..., object]) -> list[str]:
    """What a function's signature says of its arguments and of its result, as written."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    arguments = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
    written = [argument.annotation for argument in arguments] + [tree.returns]
    return [ast.unparse(one) for one in written if one is not None]


def raises(function: Callable[..., object]) -> bool:
    """Whether a function raises an error about what it was given."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return any(
        isinstance(node, ast.Raise) and re.search(r"\b(ValueError|UserError|SpecError|GateError)\b", ast.unparse(node))
        for node in ast.walk(tree)
    )


def count(package: str, without: tuple[str, ...] = ()) -> Count:
    """The figures of one package, leaving out other packages inside it."""
    found = Count()
    for name, function, documentation in public(package):
        if name.startswith(tuple(each + "." for each in without)):
            continue
        found.functions += 1
        if not documentation:
            found.undocumented.append(name)
        written = annotations(function)
        if any(PLAIN.search(one) or SHAPED.search(one) for one in written):
            found.arrays += 1
            if any(PLAIN.search(SHAPED.sub("", one)) for one in written):
                found.unshaped.append(name)
        if raises(function) and not name.startswith("experiments.cli."):  # a verb's docstring is its help
            found.raisers += 1
            if not re.search(r"\b[Rr]aise|\b\w*Error\b|\b[Rr]efuse", documentation):
                found.silent.append(name)
    return found


def counts() -> dict[str, Count]:
    """The figures by package."""
    return {each: count(each, tuple(o for o in PACKAGES if o.startswith(each + "."))) for each in PACKAGES}


def main() -> None:
    """Print the table."""
    print(f"{'package':<18}{'functions':>10}{'documented':>12}{'shaped':>12}{'raising':>12}")
    for package, found in counts().items():
        shaped = f"{found.arrays - len(found.unshaped)}/{found.arrays}"
        raising = f"{found.raisers - len(found.silent)}/{found.raisers}"
        documented = f"{found.functions - len(found.undocumented)}"
        print(f"{package:<18}{found.functions:>10}{documented:>12}{shaped:>12}{raising:>12}")


if __name__ == "__main__":
    main()
