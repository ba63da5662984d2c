"""Prints a JSON schema of all settings, for editors."""

import json
from argparse import Namespace

from config.tell.language import tr
from framework.commands.line import shared, start

HELP = {
    "schema > joystick.schema.json": tr(
        "for editors; first line of\n    a YAML file: # yaml-language-server: $schema=joystick.schema.json"
    ),
}
flags = shared.permission


def run(request: Namespace) -> int:
    """Prints the schema."""
    from config.tell.json_schema import schema
    from framework.catalog import ALGOS, ENVS

    return start.printed(lambda: json.dumps(schema(ALGOS, ENVS), indent=1) + "\n", file=True)
