"""What the state of a model may be: declared beside every ``to_state``, checked as a whole before a file is used.

Compiled kernels do not check bounds, so a wrong index in a model file would read or write foreign memory. A
:class:`Schema` says which plain values and which arrays a part of a model has: dtypes, shapes in terms of named sizes,
ranges of indices, order, sums. :meth:`Schema.check` goes through a state and names the array that does not fit;
``docs/model-files.md`` is written from the same declarations.
"""

from spectragram.schema.arrays import Array, Misfit, Strings, weight_table
from spectragram.schema.parts import OneOf, Part, Parts, Schema
from spectragram.schema.values import Flag, Json, ListOf, Maybe, Number, Record, Row, Table, Text, Value, Whole

__all__ = [
    "Array",
    "Flag",
    "Json",
    "ListOf",
    "Maybe",
    "Misfit",
    "Number",
    "OneOf",
    "Part",
    "Parts",
    "Record",
    "Row",
    "Schema",
    "Strings",
    "Table",
    "Text",
    "Value",
    "Whole",
    "weight_table",
]
