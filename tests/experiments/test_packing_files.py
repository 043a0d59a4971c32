"""word2vec's binary format, written here byte by byte as its authors' program writes it."""

import numpy as np
import pytest

from experiments.errors import UserError
from experiments.studies.packing.vector_files import load_vectors

TOKENS = ["the", "naïve", "</s>"]
ROWS = np.random.default_rng(0).standard_normal((3, 5)).astype("<f4")


def binary(tokens=TOKENS, rows=ROWS, end=b"\n", header=None):
    body = b"".join(t.encode() + b" " + row.tobytes() + end for t, row in zip(tokens, rows, strict=True))
    return (header or f"{len(rows)} {rows.shape[1]}\n").encode() + body


@pytest.mark.parametrize("end", [b"\n", b""])
def test_word2vec_binary_is_read_with_its_tokens(tmp_path, end):
    path = tmp_path / "vectors.bin"
    path.write_bytes(binary(end=end))
    found = load_vectors(path)
    assert found.names == TOKENS
    assert np.array_equal(found.matrix, ROWS)


def test_zero_vectors_are_named_or_kept_for_skipping(tmp_path):
    path = tmp_path / "vectors.bin"
    rows = ROWS.copy()
    rows[1] = 0
    path.write_bytes(binary(rows=rows))
    with pytest.raises(UserError, match="the vector of 'naïve' is zero"):
        load_vectors(path)
    assert load_vectors(path, allow_zero=True).without_zero_rows()[0].names == ["the", "</s>"]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "the file is empty"),
        (b"\x80\x02}q\x00.", "first line is not a number of vectors"),  # a pickle
        (b"\xba\x16\x4f\x2f\x0c\x00\x00\x00", "first line is not a number of vectors"),  # fastText's magic number
        (binary()[:-12], "the file ends in vector 3"),
        (binary(header="9000000 300\n"), "too short"),
        (binary(header="2 5\n"), "holds more"),
        (binary(rows=np.where(ROWS[2, 0] == ROWS, np.nan, ROWS).astype("<f4")), "'</s>' holds a NaN"),
    ],
)
def test_another_file_is_one_sentence(tmp_path, data, sentence):
    path = tmp_path / "vectors.bin"
    path.write_bytes(data)
    with pytest.raises(UserError, match=sentence):
        load_vectors(path)
