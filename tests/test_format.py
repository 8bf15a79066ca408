"""The scenario format as its records state it, seen from Python."""

import tomllib
from pathlib import Path

import jsonschema
import pytest

import tidegate
from conftest import CHAIN
from tidegate import _tidegate
from tidegate.cli.schema import scenario_schema

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


@pytest.fixture(scope="module")
def validator():
    """The schema, which is checked once."""
    schema = scenario_schema()
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


@pytest.mark.parametrize("text", [CHAIN, *(path.read_text() for path in EXAMPLES)])
def test_the_schema_accepts_what_the_reader_accepts(text, validator):
    validator.validate(tomllib.loads(text))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('duration = "2s"', 'duration = "2"'),
        ('duration = "2s"', "duration = 2"),
        ('rate = "1mbit"', 'rate = "1mbps"'),
        ('kind = "chain"', 'kind = "ring"'),
        ("count = 4", "count = 0"),
        ("count = 4", "cuont = 4"),
    ],
)
def test_the_schema_and_the_reader_refuse_alike(right, wrong, validator):
    text = CHAIN.replace(right, wrong)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(tomllib.loads(text))
    with pytest.raises(_tidegate.TidegateError):
        _tidegate.Scenario.parse(text)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_right(path):
    scenario = tomllib.loads(path.read_text(encoding="utf-8"))
    sources = [flow.get("source") for flow in scenario.get("flow", [])]
    files = {
        path.parent / source["file"] for source in sources if isinstance(source, dict) and "file" in source
    }
    files |= {path.parent / link["trace"] for link in scenario.get("link", []) if "trace" in link}
    if absent := [file for file in files if "shared" in file.parts and not file.exists()]:
        pytest.skip(f"real data are not at {absent[0]}")
    assert tidegate.load(path).flows
