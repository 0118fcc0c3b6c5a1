"""The JSON Schema of scenarios: it takes what the simulator takes, and refuses what editors can."""

import copy
import json
import tomllib
from typing import Any

import jsonschema
import pytest

import backwater
from tools import ROOT

SCENARIOS = sorted(
    path
    for folder in ("scenarios", "benches/scenarios", "papers/backwater_papers/figures/*/scenarios")
    for path in ROOT.glob(f"{folder}/*.toml")
)
SCHEMA = backwater.schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

GOOD = """
name = "good"
topology = { kind = "star", hosts = 4, link = { rate = "100Gbps", delay = "1us" } }

[[traffic]]
name = "web"
pattern = "incast"
degree = 2
total = "1MB"

[scheme]
preset = "hpcc"
hpcc.eta = 0.9
"""


def mistakes(scenario: dict[str, Any]) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(scenario)]


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"] == "urn:backwater:scenario"  # Editors and caches refer to it.
    assert len(SCENARIOS) > 30
    assert mistakes(tomllib.loads(GOOD)) == []


@pytest.mark.parametrize(
    "path", SCENARIOS, ids=lambda path: f"{path.parent.parent.name}-{path.stem}"
)
def test_scenarios_are_valid(path):
    assert mistakes(tomllib.loads(path.read_text())) == []


def test_every_example_of_the_documents_is_valid():
    pages = [ROOT / "docs/scenario.md", *sorted((ROOT / "docs/scenario").glob("*.md"))]
    text = "".join(page.read_text() for page in pages)
    blocks = [block.partition("```")[0] for block in text.split("```toml\n")[1:]]
    assert len(blocks) > 8
    for block in blocks:
        scenario, part = tomllib.loads(GOOD), tomllib.loads(block)
        if "kind" not in part.get("topology", {"kind": ""}):
            part["topology"] |= scenario["topology"]
        assert mistakes(scenario | part) == [], block


def test_resolved_scenarios_are_valid_under_every_preset(tmp_path):
    scenario = tmp_path / "good.toml"
    scenario.write_text(GOOD.replace("hpcc.eta = 0.9", ""))
    for entry in backwater.catalogue("schemes"):
        resolved = backwater.Scenario(scenario, scheme=entry["name"]).resolved
        assert mistakes(tomllib.loads(resolved)) == [], entry["name"]


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (["nmae"], "x"),
        (["name"], 5),
        (["seed"], -1),
        (["seed"], 1.5),
        (["switch"], {"bufer": "12MB"}),
        (["switch"], {"buffer": 12_000_000}),
        (["switch"], {"buffer": "12us"}),
        (["switch"], {"buffer": "-12MB"}),
        (["topology", "kind"], "ring"),
        (["topology", "spines"], 2),
        (["topology", "hosts"], 1),
        (["topology", "link", "loss"], 1.5),
        (["topology", "failures"], [{"lnks": ["a--b"]}]),
        (["traffic", 0, "degree"], 0),
        (["traffic", 0, "senders"], [0]),
        (["traffic", 0, "load"], {"fraction": 0.5}),
        (["traffic", 0, "load"], {"fraction": 0.5, "of": "senders"}),
        (["traffic", 0, "window"], ["0us"]),
        (["run"], {"on_deadlock": "stop"}),
        (["record"], {"queue": {"every": "1us"}}),
        (["scheme", "preset"], "hpc"),
        (["scheme", "queues"], 1),
        (["scheme", "classify"], "fifos"),
        (["scheme", "irn"], {"window": "bdps"}),
        (["scheme", "irn"], {"few": "3"}),
        (["scheme", "pfc"], {"xoff": 0.0}),
        (["scheme", "ecn"], {"profiles": []}),
        (["scheme", "ecn"], {"profiles": [{"rate": "25Gbps"}]}),
        (["scheme", "nic"], {"obeys": ["ecn"]}),
    ],
)
def test_what_is_wrong_is_refused(where, value):
    scenario = copy.deepcopy(tomllib.loads(GOOD))
    place: Any = scenario
    for part in where[:-1]:
        place = place[part]
    place[where[-1]] = value
    assert mistakes(scenario)


def test_what_is_needed_is_missed():
    for key in ("name", "topology"):
        scenario = {name: value for name, value in tomllib.loads(GOOD).items() if name != key}
        assert mistakes(scenario) == [f"{key!r} is a required property"]


def test_traffic_or_a_workload_is_needed():
    scenario = tomllib.loads(GOOD)
    del scenario["traffic"]
    [mistake] = mistakes(scenario)
    assert "is not valid under any of the given schemas" in mistake
    work = {"name": "step", "collective": "all-reduce", "size": "1MB"}
    assert mistakes(scenario | {"workload": [work]}) == []
    assert mistakes(scenario | {"workload": [{"name": "step", "file": "step.parquet"}]}) == []


def test_keys_have_a_sentence_and_defaults():
    buffer = SCHEMA["properties"]["switch"]["properties"]["buffer"]
    assert buffer["default"] == "12MB"
    assert buffer["description"].startswith("Memory of each switch")
    assert "PRE-42" in buffer["description"]

    def undescribed(schema: Any, path: str) -> list[str]:
        if isinstance(schema, list):
            return [bad for item in schema for bad in undescribed(item, path)]
        if not isinstance(schema, dict):
            return []
        found = [
            f"{path}.{key}"
            for key, value in schema.get("properties", {}).items()
            if not value.get("description")
        ]
        for key, value in schema.items():
            found += undescribed(value, f"{path}.{key}")
        return found

    assert undescribed(SCHEMA, "") == []


def test_the_command_prints_the_schema(command):
    assert json.loads(command("schema").stdout) == SCHEMA


def test_messages_carry_a_code(command, tmp_path):
    scenario = tmp_path / "good.toml"
    scenario.write_text(GOOD)
    assert json.loads(command("check", scenario, "--json").stdout) == []
    override = "scheme.dcqcn.g=0.5"
    [problem] = backwater.Scenario(scenario, [override]).check()
    assert (problem["code"], problem["key"]) == ("useless-key", "scheme.dcqcn")
    said = command("check", scenario, "--set", override, "--json", code=2)
    assert json.loads(said.stdout) == [problem]
