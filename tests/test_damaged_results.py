"""Result folders that are not as they were written: one message, never a traceback."""

import json
import os
import random
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidegate
from conftest import call
from tidegate import Results, TidegateError
from tidegate.run_tables import TABLES

DAMAGES = 400 if os.environ.get("TIDEGATE_VERIFY") else 60


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    text = """
version = 1
duration = "1s"
topology = { kind = "chain", switches = 3, rate = "1mbit" }
switch = { buffer = "10p" }
[[flow]]
name = "a"
count = 3
from = "s1"
to = "s3"
size = "500B"
source = { kind = "poisson", rate = "400kbit" }
"""
    return tidegate.simulate(text, replications=2, series=True).save(tmp_path_factory.mktemp("saved") / "run")


def drop_a_file(folder, draw):
    draw.choice(sorted(folder.iterdir())).unlink()


def drop_a_column(folder, draw):
    path, table = a_table(folder, draw)
    pq.write_table(table.drop_columns([draw.choice(table.column_names)]), path)


def drop_a_row(folder, draw):
    path, table = a_table(folder, draw)
    row = draw.randrange(max(table.num_rows, 1))
    if table.num_rows:
        rows = [at for at in range(table.num_rows) if at != row]
        pq.write_table(table.take(rows), path)
    else:
        path.unlink()


def empty_a_column(folder, draw):
    replace_a_column(folder, draw, lambda column: pa.nulls(len(column), column.type))


def retype_a_column(folder, draw):
    other = draw.choice(
        [pa.null(), pa.binary(), pa.list_(pa.int32()), pa.bool_(), pa.dictionary(pa.int8(), pa.string())]
    )
    replace_a_column(folder, draw, lambda column: pa.nulls(len(column), other))


def replace_a_column(folder, draw, change):
    path, table = a_table(folder, draw)
    at = draw.randrange(table.num_columns)
    pq.write_table(table.set_column(at, table.column_names[at], change(table.column(at))), path)


def truncate_a_file(folder, draw):
    path = draw.choice(sorted(folder.iterdir()))
    path.write_bytes(path.read_bytes()[: draw.randrange(path.stat().st_size)])


def turn_a_byte(folder, draw):
    path = draw.choice(sorted(folder.glob("*.parquet")))
    content = bytearray(path.read_bytes())
    # In the footer, where the columns are described.
    at = len(content) - draw.randrange(1, min(400, len(content)))
    content[at] ^= 1 << draw.randrange(8)
    path.write_bytes(content)


def drop_a_key(folder, draw):
    change_the_manifest(folder, draw, lambda manifest, key: manifest.pop(key))


def turn_a_value(folder, draw):
    other = draw.choice([None, [], {}, "x", 7, -1, True, [[]], {"a": 1}, 1e308])
    change_the_manifest(folder, draw, lambda manifest, key: manifest.__setitem__(key, other))


def change_the_scenario(folder, draw):
    path = folder / "scenario.toml"
    text = path.read_text()
    at = draw.randrange(len(text))
    path.write_text(text[:at] + draw.choice("x9 =") + text[at + 1 :])


def a_table(folder, draw):
    path = folder / f"{draw.choice(TABLES)}.parquet"
    return path, pq.ParquetFile(path).read()


def change_the_manifest(folder, draw, change):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest, draw.choice(sorted(manifest)))
    path.write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "damage",
    [
        drop_a_file,
        drop_a_column,
        drop_a_row,
        empty_a_column,
        retype_a_column,
        truncate_a_file,
        turn_a_byte,
        drop_a_key,
        turn_a_value,
        change_the_scenario,
    ],
)
def test_damage_is_told_in_one_message(saved, tmp_path, damage):
    draw = random.Random(damage.__name__)
    refused = 0
    shown: list[str] = []
    for _ in range(DAMAGES // 8):
        folder = tmp_path / "run"
        shutil.copytree(saved, folder)
        damage(folder, draw)
        try:
            loaded = Results.load(folder)
        except TidegateError as error:
            refused += 1
            shown.append(str(error))
            for command in (
                ["explain", folder, "--flow", "a"],
                ["plot", folder, "--out", tmp_path / "x.png"],
                ["fairness", folder, "--groups", "a"],
            ):
                done = call(*command)
                assert (done.exit_code, done.stdout) == (1, ""), done.output
                assert done.stderr.startswith("tidegate: ")
                assert done.stderr.count("tidegate: ") == 1
        else:
            # Only parts that no run depends on were damaged: everything can be done with the rest.
            assert len(loaded.groups()) == 1
            assert call("explain", folder, "--flow", "a", "--packets", 1).exit_code == 0
            done = call("fairness", folder, "--groups", "a")
            assert done.exit_code in (0, 1)
            assert done.exception is None or isinstance(done.exception, SystemExit), done.output
        shutil.rmtree(folder)
    assert refused > 0
    assert not [one for one in shown if "Traceback" in one or str(tmp_path) not in one]


def test_a_folder_without_its_key_of_the_format_is_told(saved, tmp_path):
    folder = shutil.copytree(saved, tmp_path / "run")
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["format_version"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(TidegateError, match="results of format None"):
        Results.load(folder)
