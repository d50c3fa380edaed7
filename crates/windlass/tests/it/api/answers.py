"""Holds answers of a controller against its OpenAPI document, by a validator that windlass has no part in.

`answers.py FILE` reads {"document": …, "answers": [{"method", "path", "status", "kind", "body"}, …]} and prints a line
for each answer that the document does not allow.
"""

import json
import sys

from jsonschema import Draft202012Validator, FormatChecker


def complaint(document, answer):
    operation = document["paths"][answer["path"]][answer["method"]]
    response = operation["responses"].get(str(answer["status"]))
    if response is None:
        return "the status is not told of"
    if answer["body"] is None:
        return "there is no body" if "content" in response else None
    content = response.get("content", {}).get(answer["kind"])
    if content is None:
        return f"{answer['kind']} is not told of"
    schema = {**content["schema"], "components": document["components"]}
    validator = Draft202012Validator(schema, format_checker=FormatChecker())
    wrong = next(validator.iter_errors(answer["body"]), None)
    return None if wrong is None else f"{wrong.json_path}: {wrong.message}"


with open(sys.argv[1], encoding="utf-8") as text:
    given = json.load(text)
for schema in given["document"]["components"]["schemas"].values():
    Draft202012Validator.check_schema(schema)
for answer in given["answers"]:
    wrong = complaint(given["document"], answer)
    if wrong is not None:
        print(answer["method"], answer["path"], answer["status"], wrong, answer["body"])
