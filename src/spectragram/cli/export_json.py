"""Any model as JSON, for programs that read no safetensors."""

from __future__ import annotations

import json

from spectragram.cli.options import Format, Model, OutText

__all__ = ["export_json"]


def export_json(model: Model, format: Format = "json", out: OutText = None) -> None:
    """Write everything in the model file, --format json: parameters, summary, state, arrays as nested lists."""
    from spectragram import storage
    from spectragram.errors import InputError
    from spectragram.files import output

    if format != "json":
        raise InputError(f"--format {format} is unknown", remedy="choose json")
    stored = storage.read(model)
    content = {"kind": stored.kind, **stored.header}
    arrays = {
        name: {"dtype": "str", "values": array}
        if isinstance(array, list)
        else {"dtype": str(array.dtype), "values": array.tolist()}
        for name, array in stored.arrays.items()
    }
    with output(out) as stream:
        json.dump({**content, "arrays": arrays}, stream, ensure_ascii=False)
        stream.write("\n")
