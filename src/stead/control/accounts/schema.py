"""The JSON shapes of accounts and sessions."""

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from stead.shared import emails
from stead.shared.sensitive import SENSITIVE

Email = Annotated[
    str,
    Meta(
        pattern=emails.PATTERN,
        extra={"noun": "email address", "expected": emails.EXPECTED},
        max_length=emails.MAX_LENGTH,
        examples=["ada@example.com"],
    ),
]
Password = Annotated[
    str,
    Meta(
        min_length=12, max_length=256, examples=["correct horse battery staple"], extra_json_schema=SENSITIVE
    ),
]
AnyPassword = Annotated[
    str, Meta(max_length=256, examples=["correct horse battery staple"], extra_json_schema=SENSITIVE)
]
PersonName = Annotated[str, Meta(min_length=1, max_length=200, examples=["Ada Lovelace"])]
AccountIdText = Annotated[str, Meta(examples=["client_01k9zy3v7d00r3m8w5x2t6b4qa"])]


class NewAccount(Struct, forbid_unknown_fields=True):
    email: Email
    password: Annotated[Password, Meta(description="At least 12 characters; stored as an argon2id hash.")]
    name: PersonName


class SignedUpView(Struct):
    id: AccountIdText
    email: Email
    name: PersonName


class SignIn(Struct, forbid_unknown_fields=True):
    email: Annotated[str, Meta(max_length=254, examples=["ada@example.com"])]
    password: AnyPassword


class SessionView(Struct):
    id: Annotated[str, Meta(examples=["sess_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    token: Annotated[
        str,
        Meta(
            description="A Bearer credential, shown once.",
            examples=["stead_session_00Jx4TzYq8rN2mW6vKc1Lb9Hd5Gf3Sa70AbCdE"],
            extra_json_schema=SENSITIVE,
        ),
    ]
    account_id: AccountIdText
    expires_at: Annotated[
        datetime, Meta(description="Each use extends the session, up to 30 days after sign-in.")
    ]
    created_at: datetime


class SessionSummaryView(Struct):
    id: Annotated[str, Meta(examples=["sess_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    current: Annotated[bool, Meta(description="Whether this request uses the session.")]
    address: Annotated[str | None, Meta(description="The address that signed in.", examples=["203.0.113.5"])]
    user_agent: Annotated[
        str | None, Meta(description="The program that signed in, as it named itself.", examples=["curl/8.5"])
    ]
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime


EmailToken = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="From the email.",
        examples=["oX3v0S7m4tq1Jc9fWb2uNzKd8LrYpG5hAeT6iQwExkM"],
        extra_json_schema=SENSITIVE,
    ),
]


SignUpPassword = Annotated[
    Annotated[str, Meta(max_length=256)] | None,
    Meta(
        description="The password of the sign-up. Required if the token was sent because of one: it shows"
        " that the sign-up is yours, and not of somebody else who used your address.",
        examples=["correct horse battery staple"],
        extra_json_schema=SENSITIVE,
    ),
]


class EmailVerification(Struct, forbid_unknown_fields=True):
    token: EmailToken
    password: SignUpPassword = None


class NewPasswordReset(Struct, forbid_unknown_fields=True):
    email: Annotated[str, Meta(min_length=1, max_length=254, examples=["ada@example.com"])]


class PasswordResetConfirmation(Struct, forbid_unknown_fields=True):
    token: EmailToken
    new_password: Password


class AccountView(Struct):
    id: AccountIdText
    email: Email
    name: PersonName
    default_team_id: Annotated[str | None, Meta(examples=["team_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    role: Annotated[str, Meta(examples=["client"])]
    plan: Annotated[str, Meta(examples=["pro"])]
    scopes: Annotated[
        list[str],
        Meta(description='The scopes of the key, or `["*"]` for a session.', examples=[["sites:read"]]),
    ]


class AccountClosure(Struct, forbid_unknown_fields=True):
    current_password: AnyPassword


class ClosedAccountView(Struct):
    closed_at: datetime
    sites: Annotated[int, Meta(description="How many sites of the account are deleted now.", examples=[2])]
    erased_at: Annotated[
        datetime,
        Meta(
            description="When the content of the sites and the personal data of the account are erased. Until"
            " then the operator can open the account again."
        ),
    ]


class AccountChange(Struct, forbid_unknown_fields=True):
    """Only the fields that are sent change. `null` clears an optional field."""

    name: PersonName | UnsetType = UNSET
    default_team_id: Annotated[str, Meta(max_length=64, examples=[None])] | UnsetType | None = UNSET
    billing_cc_email: Email | UnsetType | None = UNSET
    new_email: (
        Annotated[
            Email,
            Meta(
                description="Requires `current_password`. The address changes when it has been confirmed with"
                " the token that is sent to it."
            ),
        ]
        | UnsetType
    ) = UNSET
    new_password: Annotated[Password, Meta(description="Requires `current_password`.")] | UnsetType = UNSET
    current_password: AnyPassword | UnsetType = UNSET
