"""The JSON shapes of access to sites."""

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from stead.control.access.public_keys import MAX_LABEL
from stead.control.access.rules import MAX_KEYS, CredentialKind
from stead.shared.sensitive import SENSITIVE

WordPressUser = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=60,
        pattern=r"^[^\x00-\x1f\x7f]+$(?!\n)",
        examples=["editor"],
        extra={"noun": "user name", "expected": "It has no control characters."},
    ),
]
_EXAMPLE_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
Label = Annotated[
    str,
    Meta(
        max_length=MAX_LABEL,
        pattern=r"^[^\x00-\x1f\x7f]*$(?!\n)",
        extra={"expected": "It is one line without control characters."},
        description="To recognize the key. Without it, the comment of the key is the label.",
        examples=["Laptop"],
    ),
]
_User = Annotated[
    str, Meta(description="Selects the environment.", examples=["example-com-x7k2-feature-checkout"])
]
_Host = Annotated[
    str,
    Meta(
        description="It changes when the environment moves to another node.",
        examples=["node-1.ssh.stead.example"],
    ),
]
_Port = Annotated[int, Meta(examples=[2222])]


class NewMagicLink(Struct, forbid_unknown_fields=True):
    redirect_to: Annotated[
        str,
        Meta(
            max_length=2000,
            description="The page that opens after the sign-in: a path of the site, with an optional query.",
            examples=["/wp-admin/"],
        ),
    ] = "/wp-admin/"
    user: Annotated[
        WordPressUser | None,
        Meta(
            description="The user name in WordPress; the site's administrator if omitted. No user is created:"
            " a link for a user who does not exist, or has no role, signs nobody in."
        ),
    ] = None
    environment: Annotated[
        str,
        Meta(max_length=100, description="An identifier, or `production`.", examples=["production"]),
    ] = "production"


class MagicLinkView(Struct):
    url: Annotated[
        str,
        Meta(
            description="Whoever has it can sign in, once. Returned only once; stored only as a hash.",
            examples=[
                "https://example.com/wp-login.php?action=stead-sign-in"
                "#3mJ4nS0mEr4nd0mT0k3nOf32Byt3sInBase64UrlXyZ"
            ],
            extra_json_schema=SENSITIVE,
        ),
    ]
    expires_at: datetime


class NewPasswordView(Struct):
    username: Annotated[str, Meta(description="The administrator of the site.", examples=["admin"])]
    password: Annotated[
        str,
        Meta(
            description="Returned only once; stored only as a hash.",
            examples=["vT3-9yQm2LkR7wXc5HnB8dZs4PfJ6aGu"],
            extra_json_schema=SENSITIVE,
        ),
    ]
    job_id: Annotated[
        str,
        Meta(
            description="The password is valid when this job has succeeded. If it fails, the earlier password"
            " stays.",
            examples=["job_01k9zy3v7d00r3m8w5x2t6b4qa"],
        ),
    ]


class SshKeyView(Struct):
    id: Annotated[str, Meta(examples=["sshk_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    client_id: Annotated[
        str, Meta(description="Whose key it is.", examples=["client_01k9zy3v7d00r3m8w5x2t6b4qa"])
    ]
    label: Annotated[str, Meta(examples=["Laptop"])]
    type: Annotated[str, Meta(examples=["ssh-ed25519"])]
    fingerprint: Annotated[str, Meta(examples=["SHA256:ldyiXa1JQakitNU5tErauu8DvWQ1dZ7aXu+rm7KQuog"])]
    public_key: Annotated[str, Meta(examples=[_EXAMPLE_KEY])]
    may_run_commands: Annotated[
        bool,
        Meta(
            description="Whether it opens a shell. Otherwise it transfers files and reaches the database.",
            examples=[True],
        ),
    ]
    created_at: datetime


class SshKeysView(Struct):
    keys: list[SshKeyView]


class NewSshKey(Struct, forbid_unknown_fields=True):
    public_key: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=4096,
            description="One line, as in a `.pub` file: Ed25519, ECDSA, a security key, or RSA with at least"
            " 2048 bits. Without options; certificates are not accepted.",
            examples=[_EXAMPLE_KEY],
        ),
    ]
    label: Label | UnsetType = UNSET


class NewSshKeys(Struct, forbid_unknown_fields=True):
    keys: Annotated[
        list[NewSshKey],
        Meta(max_length=MAX_KEYS, description="The complete list. An empty list removes all keys."),
    ]


class SshAddress(Struct):
    host: _Host
    port: _Port
    user: _User


_PasswordCreatedAt = Annotated[datetime | None, Meta(examples=[None])]


class SftpAddress(Struct):
    host: _Host
    port: _Port
    user: _User
    has_password: Annotated[
        bool,
        Meta(description="Whether a password opens it besides keys. It is never returned.", examples=[False]),
    ]
    password_created_at: _PasswordCreatedAt


class DatabaseAddress(Struct):
    host: Annotated[
        str, Meta(description="As seen from the SSH server: the target of a tunnel.", examples=["127.0.0.1"])
    ]
    port: Annotated[int, Meta(examples=[3306])]
    user: Annotated[
        str,
        Meta(
            description="For people. The site itself has another one.",
            examples=["db_01k9zy3v7d00r3m8w5x2t6b4qa"],
        ),
    ]
    name: Annotated[
        str,
        Meta(
            description="It changes when the environment gets other data: with a refresh, a reset or a push.",
            examples=["env_01k9zy3v7d00r3m8w5x2t6b4qa"],
        ),
    ]
    has_password: Annotated[
        bool,
        Meta(
            description="Whether the user exists: it is created with its first password, which is never"
            " returned.",
            examples=[False],
        ),
    ]
    password_created_at: _PasswordCreatedAt


class EnvironmentAccess(Struct):
    env_id: Annotated[str, Meta(examples=["env_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    type: Annotated[str, Meta(examples=["production"])]
    branch: Annotated[str | None, Meta(examples=[None])]
    ssh: SshAddress
    sftp: SftpAddress
    database: DatabaseAddress


class CredentialsView(Struct):
    environments: Annotated[
        list[EnvironmentAccess],
        Meta(description="Those that can be entered. A site without processes has none."),
    ]


class PasswordReset(Struct, forbid_unknown_fields=True):
    environment: Annotated[
        str,
        Meta(
            max_length=100,
            description="An identifier, or `production`.",
            examples=["env_01k9zy3v7d00r3m8w5x2t6b4qa"],
        ),
    ] = "production"


class NewCredentialView(Struct):
    kind: Annotated[CredentialKind, Meta(examples=["sftp"])]
    env_id: Annotated[str, Meta(examples=["env_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    user: Annotated[
        str,
        Meta(
            description="As in the credentials of the site.", examples=["example-com-x7k2-feature-checkout"]
        ),
    ]
    password: Annotated[
        str,
        Meta(
            description="Returned only once.",
            examples=["stead_sftp_0073WakrfVbNJBaAmhQtEeDvXkZ2mR8pLq"],
            extra_json_schema=SENSITIVE,
        ),
    ]
    created_at: datetime
