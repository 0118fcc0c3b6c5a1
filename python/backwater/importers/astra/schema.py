"""The messages of Chakra's execution traces, as protocol buffers.

The fields are those of schema versions 0.0.4 to 1.0.2-chakra.0.0.4. These versions are compatible,
and the version is only a text in the file. The library skips fields of later versions.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from backwater.importers.common.extras import need

PACKAGE = "ChakraProtoMsg"

SCALARS = (
    "double",
    "float",
    "int32",
    "int64",
    "uint32",
    "uint64",
    "sint32",
    "sint64",
    "fixed32",
    "fixed64",
    "sfixed32",
    "sfixed64",
    "bool",
    "string",
    "bytes",
)
"""Kinds of values of an attribute, in the order of their field numbers.

Field numbers start at 3. Each kind is followed by a list of the same kind.
"""

_FIELDS: dict[str, list[tuple[int, str, str]]] = {
    "IOInfo": [(1, "values", "string"), (2, "shapes", "string"), (3, "types", "string")],
    "GlobalMetadata": [(1, "version", "string"), (2, "attr", "*AttributeProto")],
    "Node": [
        (1, "id", "uint64"),
        (2, "name", "string"),
        # An enumeration. It is read as a number, so that unknown kinds can be reported.
        (3, "type", "int32"),
        (4, "ctrl_deps", "*uint64"),
        (5, "data_deps", "*uint64"),
        (6, "start_time_micros", "uint64"),
        (7, "duration_micros", "uint64"),
        (8, "inputs", "IOInfo"),
        (9, "outputs", "IOInfo"),
        (10, "attr", "*AttributeProto"),
    ],
}
"""Number, name and kind of each field. `*` precedes kinds of repeated fields."""


@cache
def messages() -> dict[str, Any]:
    """Return the classes of the messages by their names."""
    need("google.protobuf", "chakra", "a Chakra trace")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(
        name="backwater/chakra.proto", package=PACKAGE, syntax="proto3"
    )
    kinds = descriptor_pb2.FieldDescriptorProto

    def add(message: Any, number: int, name: str, kind: str) -> Any:
        field = message.field.add(name=name, number=number)
        field.label = kinds.LABEL_REPEATED if kind.startswith("*") else kinds.LABEL_OPTIONAL
        word = kind.removeprefix("*")
        if word in SCALARS:
            field.type = getattr(kinds, f"TYPE_{word.upper()}")
        else:
            field.type = kinds.TYPE_MESSAGE
            field.type_name = f".{PACKAGE}.{word}"
        return field

    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for number, field, kind in fields:
            add(message, number, field, kind)
    attribute = file.message_type.add(name="AttributeProto")
    add(attribute, 1, "name", "string")
    add(attribute, 2, "doc_string", "string")
    attribute.oneof_decl.add(name="value")
    for index, scalar in enumerate(SCALARS):
        many = f"{scalar.capitalize()}List"
        add(file.message_type.add(name=many), 1, "values", f"*{scalar}")
        add(attribute, 3 + 2 * index, f"{scalar}_val", scalar).oneof_index = 0
        add(attribute, 4 + 2 * index, f"{scalar}_list", many).oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
        for name in ("GlobalMetadata", "Node", "AttributeProto", "IOInfo")
    }
