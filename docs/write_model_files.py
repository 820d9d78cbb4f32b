"""Write the part of ``model-files.md`` that says what each kind of file holds, from the schemas that loading checks.

python docs/write_model_files.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from spectragram.clusters import unfinished as clusters
from spectragram.clusters.checkpoint import WORDS_SCHEMA
from spectragram.clusters.counts import PairCounts
from spectragram.kinds import KINDS
from spectragram.lm import unfinished as lm
from spectragram.schema import OneOf, Parts, Schema

PAGE = Path(__file__).parent / "model-files.md"
BEGIN = "<!-- written by docs/write_model_files.py from the schemas -->\n"


def page() -> str:
    """The page with its last part written again."""
    return PAGE.read_text(encoding="utf-8").split(BEGIN)[0] + BEGIN + "\n" + "\n".join(sections())


def sections() -> Iterator[str]:
    """A section for every kind of file, then one for every part that they are made of."""
    whole = kinds()
    for title, schema in whole.items():
        yield from section(f"### {title}", schema)
    yield "## The parts of models\n"
    known = {schema.name for schema in whole.values()}
    for schema in whole.values():
        yield from part_sections(schema, known)


def kinds() -> dict[str, Schema]:
    """The schemas of whole files by their titles."""
    found = {f"Kind {kind.name}": kind.estimator_class().model_type.SCHEMA for kind in KINDS.values()}
    found |= {"Saved counts": PairCounts.SCHEMA, "Interrupted counts": PairCounts.INTERRUPTED}
    return found | {
        "Interrupted counts of words": WORDS_SCHEMA,
        "Unfinished clusters": clusters.UNFINISHED_SCHEMA,
        "Unfinished language models": lm.UNFINISHED_SCHEMA,
    }


def link(schema: Schema) -> str:
    """A link to the section of a part, or of a kind that is part of another."""
    title = next((title for title, whole in kinds().items() if whole.name == schema.name), schema.name)
    return f"[{schema.name}](#{title.lower().replace(' ', '-')})"


def part_sections(schema: Schema, known: set[str]) -> Iterator[str]:
    """Sections of the parts of a schema that were not described yet."""
    for part in schema.parts.values():
        for inner in schemas_of(part.schema):
            if inner.name not in known:
                known.add(inner.name)
                yield from section(f"### {inner.name}", inner)
                yield from part_sections(inner, known)


def schemas_of(schema: Schema | OneOf) -> list[Schema]:
    """The schemas that a part may have."""
    return list(schema.schemas.values()) if isinstance(schema, OneOf) else [schema]


def section(title: str, schema: Schema) -> Iterator[str]:
    """Title and table of a schema."""
    yield f"{title}\n\n{schema.about}\n"
    rows = [(f"`{name}`", "value", value.describe(), value.about) for name, value in schema.values.items()]
    for name, leaf in schema.arrays.items():
        kind = f"{leaf.dtype.replace('|', ' or ')} `{leaf.shape_text}`"
        rows.append((f"`{name}`", kind, leaf.describe(), leaf.about))
    for name, part in schema.parts.items():
        prefix = f"`{name}0.`, `{name}1.`, ..." if isinstance(part, Parts) else f"`{name}.`"
        names = " or ".join(map(link, schemas_of(part.schema)))
        optional = "" if isinstance(part, Parts) or not part.optional else "may be missing"
        rows.append((prefix, "part", optional, names))
    yield "| name | type | range | what |\n|---|---|---|---|"
    yield "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
