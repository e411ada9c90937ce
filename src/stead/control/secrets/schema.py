"""The JSON shapes of secrets."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from stead.control.secrets.rules import MAX_VALUE
from stead.shared.sensitive import SENSITIVE

Previews = Annotated[
    bool,
    Meta(
        description="Only for production: builds of branch environments get it too, unless they have one of"
        " the same name.",
        examples=[False],
    ),
]
Plain = Annotated[
    bool,
    Meta(
        description="It is not a secret: its value is returned, and not masked in the output of builds.",
        examples=[False],
    ),
]


class SecretView(Struct):
    name: Annotated[str, Meta(examples=["API_TOKEN"])]
    plain: Plain
    previews: Previews
    value: Annotated[
        str | None, Meta(description="Only of a plain variable. A secret is never returned.", examples=[None])
    ]
    updated_at: datetime


class NewSecret(Struct, forbid_unknown_fields=True):
    value: Annotated[
        str,
        Meta(
            max_length=MAX_VALUE,
            description="Can have several lines. Only builds read it.",
            examples=["correct-horse-battery-staple"],
            extra_json_schema=SENSITIVE,
        ),
    ]
    plain: Plain = False
    previews: Previews = False
