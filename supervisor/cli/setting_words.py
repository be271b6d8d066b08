"""What there is to say of each setting: its sentence in `settings.py`, its value for people, its JSON schema."""

import ast
import inspect
from functools import cache
from itertools import pairwise
from typing import Any, Final

import msgspec

from supervisor import settings as settings_module
from supervisor.settings import Settings
from supervisor.settings_resolve import allowed, limits

DEFAULTS: Final[dict[str, Any]] = {field.name: field.default for field in msgspec.structs.fields(Settings)}


@cache
def described() -> dict[str, str]:
    """Setting to the text that stands below it in the source: the only place where it is written."""
    tree = ast.parse(inspect.getsource(settings_module))
    fields = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == Settings.__name__)
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(fields.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


def schema() -> dict[str, Any]:
    """The JSON schema of a settings file, for editors and for a site's own checks."""
    made = msgspec.json.schema(Settings)
    body = made["$defs"][Settings.__name__]
    for name, entry in body["properties"].items():
        entry |= {"description": f"{described()[name]} Allowed: {allowed(name)}.", **limits(name)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of supervise",
        "description": body["description"],
        "type": "object",
        "properties": body["properties"],
        "additionalProperties": False,
    }
