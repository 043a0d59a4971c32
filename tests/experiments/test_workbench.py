"""The workbench's server: who may ask, what is shown, and that bad input is one sentence."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from fastapi.testclient import TestClient

from experiments import make_experiment, run
from experiments.cli import main
from experiments.lm.trained_models import load
from experiments.workbench.app import COOKIE, create_app
from experiments.workbench.predictions import Sampling, expected
from experiments.workbench.workspace import Workspace

TOKEN, HOST = "right", "127.0.0.1:8765"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    text = folder / "text.txt"
    text.write_text("the sea and the hand and the ship and the whale " * 60, encoding="utf-8")
    tiny = {"dim": 8, "layers": 1, "heads": 2}
    experiment = make_experiment(
        name="small",
        task={"kind": "text", "path": str(text), "block": 16},
        models={
            "transformer": {"kind": "transformer", "preset": "gpt2_style", **tiny},
            "unitary": {"kind": "unitary", "control": "additive", "ngram": 2, "embedding": 4, **tiny},
        },
        training={"steps": 12, "batch": 4, "evaluate_every": 6},
        seeds=1,
    )
    run(experiment, folder / "small")
    return folder


@pytest.fixture
def client(results: Path) -> Iterator[TestClient]:
    app = create_app(Workspace([results]), TOKEN, frozenset({HOST}))
    with TestClient(app, base_url=f"http://{HOST}", follow_redirects=False, raise_server_exceptions=True) as client:
        client.cookies.set(COOKIE, TOKEN)
        yield client


def test_without_the_token_nothing_is_shown_and_with_it_the_url_is_cleaned(client: TestClient) -> None:
    client.cookies.clear()
    assert client.get("/").status_code == 403
    assert client.get("/?token=wrong").status_code == 403
    first = client.get("/models?prompt=a&token=right")
    assert first.status_code == 303
    assert first.headers["location"] == "/models?prompt=a"
    assert "HttpOnly" in first.headers["set-cookie"]
    assert "SameSite=strict" in first.headers["set-cookie"]


def test_another_host_name_is_refused_so_that_no_foreign_page_can_ask(client: TestClient) -> None:
    assert client.get("/", headers={"host": "evil.example:8765"}).status_code == 400
    assert client.post("/models").status_code == 405


def test_pages_load_nothing_from_elsewhere(client: TestClient) -> None:
    for path in ("/", "/models?prompt=the", "/static/workbench.css", "/style.css", "/nothing"):
        answer = client.get(path)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert not re.search(r'(src|href|action)="(https?:)?//', answer.text)


def test_the_first_page_names_what_is_there_and_links_lead_on(client: TestClient) -> None:
    home = client.get("/").text
    links = re.findall(r'href="(/(?:runs|report)/\w+)"', home)
    assert len(links) == 2
    for link in links:
        page = client.get(link)
        assert page.status_code == 200
        assert "<svg" in page.text
    assert "2 trained models" in home


def test_the_table_shows_the_models_own_probabilities(client: TestClient, results: Path) -> None:
    page = client.get("/models?prompt=the se&fragment=true").text
    assert "transformer on" in page
    assert "unitary on" in page
    folders = sorted(path.parent for path in results.glob("small/runs/*/model.safetensors"))
    for folder in folders:
        trained = load(folder)
        ids = torch.tensor([trained.tokenizer.encode("the se")])
        with torch.no_grad():
            p, best = trained.model(ids)[0, -1].exp().max(0)
        assert f"{p.item():.3f}" in page
        answer = expected(trained, "the se", Sampling())
        assert answer["tokens"][0]["text"] == trained.tokenizer.decode([int(best)])
        assert abs(sum(token["p"] for token in answer["tokens"]) - 1) < 1e-9


def test_influence_is_what_leaving_a_token_out_changes(results: Path) -> None:
    trained = load(next(iter(sorted(path.parent for path in results.glob("small/runs/*/model.safetensors")))))
    answer = expected(trained, "the", Sampling())
    best = trained.tokenizer.encode(answer["tokens"][0]["text"])[0]
    with torch.no_grad():
        full = trained.model(torch.tensor([trained.tokenizer.encode("the")]))[0, -1, best]
        without = trained.model(torch.tensor([trained.tokenizer.encode("he")]))[0, -1, best]
    assert answer["influence"][0]["text"] == "t"
    assert answer["influence"][0]["nats"] == pytest.approx((full - without).item(), abs=1e-5)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("prompt=%E2%98%83", "☃"),
        ("temperature=hot", "temperature"),
        ("temperature=-1", "greater than or equal to 0"),
        ("model=nothing", "no such trained model"),
        ("prompt=" + "a" * 3000, "at most 2,000"),
        ("&".join(["model=x"] * 5), "at most 4 models"),
    ],
)
def test_bad_input_is_a_sentence_on_the_page(client: TestClient, query: str, words: str) -> None:
    answer = client.get(f"/models?{query}")
    assert answer.status_code in (200, 400)
    assert words in answer.text
    assert "Traceback" not in answer.text


def test_a_circuit_is_drawn_and_simulated(client: TestClient) -> None:
    page = client.get("/circuits", params={"circuit": "qubits: 2\ngates:\n  - [Hadamard, 0]\n  - [CNOT, 0, 1]\n"}).text
    assert page.count(" 0.5000</td>") == 2
    assert "1|1: 1.000" in page  # one bit of entanglement in a Bell state
    qasm = 'OPENQASM 2.0; include "qelib1.inc"; qreg q[1]; x q[0];'
    assert "<code>1</code>" in client.get("/circuits", params={"circuit": qasm}).text


def test_forcing_an_atom_shows_what_follows(client: TestClient) -> None:
    # Specker's bug: one end true makes the other false, and no state has both
    free = client.get("/contexts", params={"name": "bug"}).text
    links = re.findall(r'href="(/contexts[^"]*true=[^"]*)"', free)
    assert "open" in free
    assert len(links) > 10
    ends = ("a1", "a7")
    page = client.get("/contexts", params={"name": "bug", "true": ends[0]}).text
    row = page[page.index(f"<code>{ends[1]}</code>") :]
    assert 'class="fails">false<' in row[: row.index("</tr>")]
    assert "No two-valued state has these values" in client.get("/contexts", params={"name": "bug", "true": ends}).text


def test_capacity_has_the_known_bounds(client: TestClient) -> None:
    page = client.get("/packing", params={"d": 4, "eps": 0.5, "field": "real"}).text
    assert "<strong>12</strong> lines" in page  # the roots of F4/D4 dual pairs: 12 lines at 60 degrees in R^4
    assert "<svg" in page


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/circuits?circuit=qubits: 2", "either `gates` or `ansatz`"),
        ("/circuits?circuit=[", "circuit"),
        ("/circuits?circuit=qubits: 30%0Agates: []", "up to 12"),
        ("/contexts?name=bgu", "did you mean"),
        ("/contexts?mmp=1", "MMP"),
        ("/contexts?name=bug&true=zz", "expected an atom"),
        ("/packing?d=1", "expected 2 to 1,024"),
        ("/packing?d=x", "d: "),
        ("/packing?eps=0", "eps"),
    ],
)
def test_what_a_room_cannot_show_is_a_sentence(client: TestClient, path: str, words: str) -> None:
    answer = client.get(path)
    assert words in answer.text
    assert "Traceback" not in answer.text


def test_paths_lead_nowhere(client: TestClient) -> None:
    for path in ("/report/..%2f..%2fetc%2fpasswd", "/static/..%2fapp.py", "/runs/../../x", "/report/0"):
        assert client.get(path).status_code in (400, 404)


def test_a_taken_port_and_a_missing_folder_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments, words in (
            ([str(tmp_path), "--port", port], "choose another one"),
            (["nowhere"], "no such folder"),
        ):
            monkeypatch.setattr("sys.argv", ["qattn", "serve", *arguments])
            with pytest.raises(SystemExit) as stop:
                main()
            assert stop.value.code == 2
            assert words in capsys.readouterr().err
