"""Lists runs."""

from argparse import Namespace

from config.read import arguments
from config.read.stores import is_url
from config.tell.language import tr
from framework.commands.line import shared, start
from framework.commands.line.parser import Parser

HELP = {"runs [TEXT | URL] [--tag TAG] [--json]": tr("list runs")}


def flags(parser: Parser) -> None:
    shared.add(parser, "--allow-import")
    help_text = tr("part of their names; or a folder of a store, such as s3://BUCKET/PREFIX")
    parser.add_argument("filter", metavar="TEXT", nargs="?", default="", help=help_text)
    tag_help = tr("runs with this tag, given in watch")
    parser.add_argument("--tag", metavar="TAG", type=arguments.text, help=tag_help)
    parser.switch("--json", tr("print JSON, with all that is known"))


def run(request: Namespace) -> int:
    """Prints a table, or JSON."""
    return start.guarded(lambda: _print(request)) if is_url(request.filter) else _print(request)


def _print(request: Namespace) -> int:
    from framework.archive import task_list
    from framework.disk.task_dir import ROOT

    part, root = request.filter, ROOT
    if is_url(part):
        from framework.storage.copies import listed

        part, root = "", listed(part)
    print((task_list.as_json if request.json else task_list.listing)(part, root, tag=request.tag), end="")
    return 0
