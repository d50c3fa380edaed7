"""Holds files against a JSON Schema, by a validator that windlass has no part in.

`schema.py SCHEMA FILE…` prints a line for each file: its name, and `fits` or the first thing that does not fit.
"""

import json
import re
import sys

import yaml
from jsonschema import Draft202012Validator


class Core(yaml.SafeLoader):
    """YAML 1.2: `on` and `yes` are texts, and so is `1:30`."""


Core.yaml_implicit_resolvers = {}
for tag, pattern, first in [
    ("null", r"(~|null|Null|NULL|)$", "~nN\0"),
    ("bool", r"(true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"[-+]?[0-9]+$", "-+0123456789"),
    ("float", r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$", "-+.0123456789"),
    ("merge", r"<<$", "<"),
]:
    Core.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))


def told(validator, file):
    with open(file, encoding="utf-8") as text:
        document = yaml.load(text, Core)
    wrong = next(validator.iter_errors(document), None)
    return "fits" if wrong is None else f"{wrong.json_path}: {wrong.message}"


with open(sys.argv[1], encoding="utf-8") as text:
    schema = json.load(text)
Draft202012Validator.check_schema(schema)
for file in sys.argv[2:]:
    print(file, told(Draft202012Validator(schema), file), sep="\t")
