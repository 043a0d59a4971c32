"""The page: complete, the same bytes for the same records, without requests, and safe from what models write."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from experiments.report import draw, write
from experiments.report.canvas import inline, png, svg
from experiments.report.figures import plain, styles
from experiments.report.headline import answer, audit_word, scientific
from experiments.report.page import floors
from experiments.stats.compare import summarise

TASK = "tiny_shakespeare"
HOSTILE = "<script>alert(1)</script>\"'&{{ 7*7 }} $x$ \udce2"


class Page(HTMLParser):
    """What a browser would see: tags, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, key, value) for key, value in attrs]

    def handle_data(self, data):
        self.text += data


def make(out, runs, tasks, **options):
    summary = summarise(runs, tasks, {"equivalence": 0.01}, options.pop("name", "invented"))
    made = {
        "experiment_yaml": "seeds: 6\n",
        "environment": {"packages": {"torch": "2.13.0"}},
        "command": "qattn run x.yaml",
    }
    return write(out, summary, runs, tasks, **{**made, **options})


@pytest.fixture(scope="module")
def report(tmp_path_factory, standard):
    """The page of eighteen finished runs and a failed one, and its folder, made once."""
    return make(tmp_path_factory.mktemp("report"), *standard)


def test_everything_is_on_the_page(report):
    page = Page(report.read_text(encoding="utf-8"))
    for piece in (
        "modern had the lowest validation loss", "modern is better than unitary", "really was unitary", "bigram counts",
        "Hedges", "inner product drift", "does running backwards give the initial state back", "temperature", "ROMEO:",
        "the loss is not finite", "seeds: 6", "2.13.0", "qattn run x.yaml", "512\u202f000", "18 of 19",
    ):  # fmt: skip
        assert piece in page.text, piece
    assert page.tags.count("svg") == 4
    labels = [value for tag, key, value in page.attributes if (tag, key) == ("svg", "aria-label")]
    assert len(labels) == 4
    assert all(labels)


def test_files_beside_the_page(report):
    folder = report.parent
    assert report.name == "report.html"
    assert json.loads((folder / "results.json").read_text())["tasks"][TASK]["tests"]
    assert len((folder / "results.csv").read_text().splitlines()) == 20
    names = sorted(path.name for path in (folder / "figures").iterdir())
    parts = ("differences", "final-loss", "ledger", "loss-curves")
    assert names == [f"tiny-shakespeare-{part}.svg" for part in parts]
    for path in (folder / "figures").glob("*.svg"):
        ElementTree.parse(path)


def test_the_same_records_give_the_same_bytes(report, tmp_path, standard):
    runs, tasks = standard
    make(tmp_path, runs[::-1], tasks)
    for path in sorted(report.parent.rglob("*.*")):
        assert path.read_bytes() == (tmp_path / path.relative_to(report.parent)).read_bytes(), path.name


def test_no_request_leaves_the_page(report):
    text = report.read_text(encoding="utf-8")
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object", "embed", "base"} & set(page.tags)
    for tag, key, value in page.attributes:
        if key in ("src", "href", "xlink:href", "action", "srcset"):
            assert value.startswith("#"), (tag, key, value)
    assert "@import" not in text
    assert all(found.startswith("#") for found in re.findall(r"url\(([^)]*)\)", text))


def test_identifiers_are_unique_and_resolve(tmp_path, runs, tasks):
    page = Page(make(tmp_path, [*runs, *({**r, "task": "other"} for r in runs)], tasks).read_text(encoding="utf-8"))
    ids = [value for _, key, value in page.attributes if key == "id"]
    assert len(ids) == len(set(ids))
    targets = {value[1:] for _, key, value in page.attributes if key in ("href", "xlink:href")}
    assert targets <= set(ids)


def test_untrusted_text_stays_text(tmp_path, runs, tasks):
    for run in runs:
        run["model"] += HOSTILE
        run["samples"] = [{"prompt": HOSTILE, "text": HOSTILE * 2, "temperature": 0.8, "top_k": None}]
    runs[0] |= {"status": "failed", "failure": {"step": 3, "reason": HOSTILE}}
    hostile = {HOSTILE: {**tasks[TASK], "source": HOSTILE, "notes": [HOSTILE]}}
    runs = [{**run, "task": HOSTILE} for run in runs]
    page = make(
        tmp_path, runs, hostile, name=HOSTILE, experiment_yaml=HOSTILE, environment={HOSTILE: HOSTILE}, command=HOSTILE
    )  # fmt: skip
    seen = Page(page.read_text(encoding="utf-8"))
    assert "script" not in seen.tags
    assert "<script>alert(1)</script>\"'&{{ 7*7 }} $x$ \ufffd" in seen.text
    assert not [key for _, key, _ in seen.attributes if key.startswith("on")]
    for path in (tmp_path / "figures").glob("*.svg"):
        assert "script" not in {element.tag.split("}")[-1] for element in ElementTree.parse(path).iter()}


@pytest.mark.parametrize("case", ["one model", "one seed", "all failed", "nothing", "no history", "old audit"])
def test_odd_experiments_still_get_a_page(tmp_path, runs, tasks, make_run, case):
    if case == "one model":
        runs = [run for run in runs if run["model"] == "unitary"]
    elif case == "one seed":
        runs = [run for run in runs if run["seed"] == 0]
    elif case == "all failed":
        runs = [make_run(TASK, "unitary", seed, failed=True) for seed in range(3)]
    elif case == "nothing":
        runs = []
    elif case == "no history":
        runs = [{**run, "history": {"train": [], "validation": []}, "samples": []} for run in runs]
    else:
        runs = [{**run, "audit": None, "ledger": {}} for run in runs]
    page = Page(make(tmp_path, runs, tasks).read_text(encoding="utf-8"))
    wanted = {
        "one model": "no second model to compare with", "one seed": "one seed says nothing about others",
        "all failed": "No run on tiny_shakespeare finished", "nothing": "No run on tiny_shakespeare finished",
        "no history": "modern had the lowest", "old audit": "this was not audited",
    }  # fmt: skip
    assert wanted[case] in page.text


def test_several_tasks_open_with_an_overview(tmp_path, runs, tasks):
    more = [
        {**run, "task": "words", "val_nats": None, "bits_per_char": None, "accuracy": 0.1 * run["seed"]} for run in runs
    ]
    page = Page(make(tmp_path, runs + more, tasks).read_text(encoding="utf-8"))
    assert page.text.index("best strictly unitary model") < page.text.index("had the highest accuracy")
    assert "the best strictly unitary model, unitary, is behind the best classical one, modern, by 0.0" in page.text
    assert (tmp_path / "figures" / "ladder.svg").exists()


def test_the_answer_says_when_the_claim_fails(runs, tasks):
    for run in runs:
        if run["model"] == "unitary":
            run["audit"] |= {"norm_drift": 3e-4, "passed": False}
    summary = summarise(runs, tasks, {}, "invented")
    text = " ".join(answer(summary)[TASK])
    assert "unitary claims to be unitary and was not: its largest audit error is 3\u00a0×\u00a010⁻⁴" in text
    models = summary["tasks"][TASK]["models"]
    assert (audit_word(models["unitary"]), audit_word(models["modern"])) == ("fails", "no claim")


def test_the_answer_names_a_model_above_the_floor(runs, tasks):
    tasks[TASK]["floor"]["bigram"] = 1.7
    text = " ".join(answer(summarise(runs, tasks, {}, "invented"))[TASK])
    assert "Not below the bigram floor of 1.700 nats: gpt2_style." in text


def test_where_kneser_ney_was_counted_the_answer_measures_the_models_by_it(runs, tasks):
    tasks[TASK]["floor"] |= {"Kneser–Ney 7-gram": 1.0, "Kneser–Ney 7-gram, same windows": 1.1}
    text = " ".join(answer(summarise(runs, tasks, {}, "invented"))[TASK])
    assert "No model is below the Kneser–Ney 7-gram floor of 1.100 nats (same windows)." in text
    (axes,) = draw(summarise(runs, tasks, {}, "invented"), runs)[TASK]["final_loss"].axes
    drawn = {tuple(float(x) for x in line.get_xdata()) for line in axes.lines}
    assert (1.1, 1.1) in drawn  # in sight however far below the models it lies
    assert (1.784, 1.784) not in drawn
    rows = [row["name"] for row in floors(summarise(runs, tasks, {}, "invented")["tasks"][TASK])]
    assert rows[:2] == ["Kneser–Ney 7-gram counts", "Kneser–Ney 7-gram counts, same windows"]


def test_the_final_loss_figure_shows_the_numbers(runs, tasks):
    summary = summarise(runs, tasks, {}, "invented")
    (axes,) = draw(summary, runs)[TASK]["final_loss"].axes
    drawn = {tuple(float(x) for x in line.get_xdata()) for line in axes.lines}
    for model in summary["tasks"][TASK]["models"].values():
        assert (model["val_nats"]["mean"],) in drawn
        assert (model["val_nats"]["low"], model["val_nats"]["high"]) in drawn
    assert (1.784, 1.784) in drawn  # the first floor above every model
    notes = " ".join(text.get_text() for text in axes.texts)
    assert "bigram 2.48" in notes  # the others are named


def test_the_band_runs_from_the_lowest_to_the_highest_seed(runs, tasks):
    ours = [run for run in runs if run["model"] == "unitary"]
    (axes,) = draw(summarise(ours, tasks, {}, "invented"), ours)[TASK]["loss_curves"].axes
    (path,) = axes.collections[0].get_paths()
    ends = [run["history"]["validation"][-1][1] for run in ours]
    last = path.vertices[path.vertices[:, 0] == 2000][:, 1]
    assert (last.min(), last.max()) == pytest.approx((min(ends), max(ends)))


def test_small_groups_are_one_bar_and_nothing_is_lost(runs, tasks):
    for run in runs:
        run["ledger"] = {**run["ledger"], "floor": 1, "start": 64}
        run["parameters"] += 65
    (axes,) = draw(summarise(runs, tasks, {}, "invented"), runs)[TASK]["ledger"].axes
    _, labels = axes.get_legend_handles_labels()
    assert labels[-1] == "other"
    assert not {"floor", "start"} & set(labels)
    totals = dict.fromkeys((0, 1, 2), 0.0)
    for bar in axes.patches:
        totals[round(bar.get_y() + bar.get_height() / 2)] += bar.get_width()
    models = summarise(runs, tasks, {}, "invented")["tasks"][TASK]["models"]
    assert list(totals.values()) == [entry["parameters"] for entry in models.values()]


def test_long_names_leave_room(runs, tasks):
    """matplotlib warns when labels squeeze the axes to nothing, and a warning is an error here."""
    for run in runs:
        run["model"] = f"{run['model']} with a name that goes on and on without an end"
        run["ledger"] = {f"{group} of the whole model, at length": size for group, size in run["ledger"].items()}
    for figure in draw(summarise(runs, tasks, {}, "invented"), runs)[TASK].values():
        svg(figure)
        png(figure)
        assert figure.axes[0].get_position().width > 0.25


def test_names_are_never_read_as_mathematics():
    assert plain("a$b$c") == r"a\$b\$c"
    assert plain("line\nbreak\x00") == "line break "
    assert len(plain("x" * 99)) == 28


def test_a_model_looks_the_same_in_every_figure():
    assert styles(["b", "a", "b", "c"]) == styles(["c", "b", "a"])
    looks = styles(f"model {i:02}" for i in range(24)).values()
    assert len({(each["color"], str(each["linestyle"]), each["marker"]) for each in looks}) == 24


def test_inlined_figures_follow_the_page(runs, tasks):
    figure = draw(summarise(runs, tasks, {}, "invented"), runs)[TASK]["ledger"]
    text = inline(svg(figure), "f0", 'a "figure" <of> ours')
    root = ElementTree.fromstring(text.replace("var(", "").replace("xlink:", ""))
    assert root.get("aria-label") == 'a "figure" <of> ours'
    assert root.get("width") is None
    assert root.get("viewBox")
    assert "var(--c0, #0072b2)" in text
    assert b"var(" not in svg(figure)


@pytest.mark.parametrize(
    ("value", "text"),
    [(6.2e-7, "6.2 × 10⁻⁷"), (1e-5, "1 × 10⁻⁵"), (0.0, "0"), (0.24, "0.24"), (None, "n/a"), (3e5, "3 × 10⁵")],
)
def test_small_numbers_are_readable(value, text):
    assert scientific(value).replace("\u00a0", " ") == text
