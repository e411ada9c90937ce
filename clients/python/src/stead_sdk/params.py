# Generated from the API description by `make generate`.
"""Objects in requests. They are dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from stead_sdk import types


class Acceptance(TypedDict):
    """The fields of `Acceptance`."""

    token: str


class AccountChange(TypedDict):
    """Only the fields that are sent change. `null` clears an optional field."""

    name: NotRequired[str]

    default_team_id: NotRequired[str | None]

    billing_cc_email: NotRequired[str | None]

    new_email: NotRequired[str]
    """Requires `current_password`. The address changes when it has been confirmed with the token that is
    sent to it.
    """

    new_password: NotRequired[str]
    """Requires `current_password`."""

    current_password: NotRequired[str]


class Assignment(TypedDict):
    """The fields of `Assignment`."""

    site_id: str


class BranchRule(TypedDict):
    """The fields of `BranchRule`."""

    pattern: str
    """The name of a branch, or a glob: `*` matches anything except `/`, `**` matches anything."""

    target: types.BranchRuleTarget
    """The environment that is built: `live` and `staging` are those of the site; `preview` is created for
    the branch; `ignore` builds nothing.
    """


class ConfigurationChange(TypedDict):
    """Fields that are not sent keep their value; null restores the inherited or default value."""

    security: NotRequired[SecurityChange]

    performance: NotRequired[PerformanceChange]

    observability: NotRequired[ObservabilityChange]


class Deletion(TypedDict):
    """The fields of `Deletion`."""

    confirm_domain: str
    """The domain of the site, to confirm the deletion."""


class EmailVerification(TypedDict):
    """The fields of `EmailVerification`."""

    token: str
    """From the email."""


class EndpointChange(TypedDict):
    """The fields of `EndpointChange`."""

    url: NotRequired[str]
    """HTTPS, port 443 or 8443, publicly reachable."""

    event_types: NotRequired[Sequence[str]]
    """`*`, event types, or `category:<name>` for all current and future types of a category."""

    description: NotRequired[str | None]

    enabled: NotRequired[bool]


class KeyChange(TypedDict):
    """The fields of `KeyChange`."""

    name: NotRequired[str | None]

    scopes: NotRequired[Sequence[types.Scope]]
    """Only scopes that the key already has."""


class Marking(TypedDict):
    """Send `ids` or `all`."""

    ids: NotRequired[Sequence[str]]

    all: NotRequired[bool]
    """Mark every notification that this credential can see; `ids` is ignored."""


class MemberChange(TypedDict):
    """The fields of `MemberChange`."""

    role: types.Role
    """Not above your own."""

    expires_at: NotRequired[str | None]
    """`null` removes the expiry. If omitted, it is unchanged."""


class NewAccount(TypedDict):
    """The fields of `NewAccount`."""

    email: str

    password: str
    """At least 12 characters; stored as an argon2id hash."""

    name: str


class NewAdministrator(TypedDict):
    """The first administrator of a WordPress site."""

    username: NotRequired[str]

    email: NotRequired[str | None]
    """Your own address if omitted."""

    password: NotRequired[str | None]
    """Write-only. If omitted, a random one that nobody knows: choose your own with *Lost your password?*
    on `/wp-login.php`, which sends a link to the administrator's address.
    """


class NewBranchRoutes(TypedDict):
    """The fields of `NewBranchRoutes`."""

    rules: Sequence[BranchRule]
    """All rules, in order: the first that matches applies."""

    roll_hook_secret: NotRequired[bool]
    """Create a new secret for the hook. The old one stops working immediately."""


class NewBuild(TypedDict):
    """The fields of `NewBuild`."""

    builder: str
    """`static` for static sites, `cms` for git-managed ones."""

    source_ref: NotRequired[str | None]
    """A branch or tag. The default is the branch of the environment."""

    commit: NotRequired[str | None]
    """Build exactly this commit."""

    source: NotRequired[str | None]
    """Instead of the repository: the id of an upload, or the https URL of an archive."""

    auto_deploy: NotRequired[bool]
    """Deploy the artifact to this environment when the build has succeeded."""


class NewCommand(TypedDict):
    """The fields of `NewCommand`."""

    args: Sequence[str]
    """The arguments, without the name of the program."""

    shell: NotRequired[types.CommandShell]
    """The program: WP-CLI, or bash, which needs the scope `exec:raw`."""


class NewDeployment(TypedDict):
    """The fields of `NewDeployment`."""

    artifact_id: str
    """An artifact of this site, built for any of its environments."""


class NewDomain(TypedDict):
    """The fields of `NewDomain`."""

    hostname: str
    """Internationalized names are accepted."""

    redirect_to_primary: NotRequired[bool]
    """Redirect visitors to the primary domain."""

    include_www: NotRequired[bool]
    """Also attach the same name with `www.` in front, or without it, and redirect its visitors to the
    primary domain.
    """


class NewEndpoint(TypedDict):
    """The fields of `NewEndpoint`."""

    url: str
    """HTTPS, port 443 or 8443, publicly reachable."""

    event_types: NotRequired[Sequence[str] | None]
    """The default is `["*"]`."""

    description: NotRequired[str | None]


class NewEnvironment(TypedDict):
    """The fields of `NewEnvironment`."""

    type: types.NewEnvironmentType

    branch: NotRequired[str | None]
    """Required for a branch environment, not allowed otherwise."""

    copy_uploads: NotRequired[bool]
    """Also copy the uploads of production. A static site has none."""


class NewInvite(TypedDict):
    """The fields of `NewInvite`."""

    role: types.Role
    """Not above your own."""

    email: NotRequired[str | None]
    """The invite is sent to this address, and only its account can accept. Optional."""

    expires_at: NotRequired[str | None]
    """By default seven days from now."""


class NewKey(TypedDict):
    """The fields of `NewKey`."""

    scopes: Sequence[types.Scope]
    """Only scopes that the creating credential has. Isolated scopes are listed one by one."""

    name: NotRequired[str | None]

    resource: NotRequired[Pin | None]
    """Pin the key to one resource."""

    expires_in_days: NotRequired[int]

    ip_allowlist: NotRequired[Sequence[str] | None]

    mode: NotRequired[types.KeyMode | None]
    """By default the mode of the creating credential. A test key creates only test keys."""


class NewMagicLink(TypedDict):
    """The fields of `NewMagicLink`."""

    redirect_to: NotRequired[str]
    """The page that opens after the sign-in: a path of the site, with an optional query."""

    user: NotRequired[str | None]
    """The user name in WordPress; the site's administrator if omitted. No user is created: a link for a
    user who does not exist, or has no role, signs nobody in.
    """

    environment: NotRequired[str]
    """An identifier, or `production`."""


class NewMember(TypedDict):
    """The fields of `NewMember`."""

    client_id: str

    role: types.Role
    """Not above your own."""

    expires_at: NotRequired[str | None]
    """When the membership expires."""


class NewProject(TypedDict):
    """The fields of `NewProject`."""

    name: str


class NewPurge(TypedDict):
    """A request without a body purges all pages."""

    type: NotRequired[types.PurgeType]

    url: NotRequired[str]
    """A path with its query, or an absolute URL."""

    tag: NotRequired[str]
    """A tag that the site sent in `Cache-Tag`."""


class NewPush(TypedDict):
    """The fields of `NewPush`."""

    mode: NotRequired[types.PushMode]
    """`db` and `full` require a site with a database."""


class NewRedirects(TypedDict):
    """The fields of `NewRedirects`."""

    redirects: Sequence[RedirectRule]
    """The complete set of rules, with at most 512 KiB of paths and destinations. An empty list removes
    all.
    """


class NewSite(TypedDict):
    """The fields of `NewSite`."""

    domain: str
    """Unique on the platform. Internationalized names are accepted."""

    profile: types.Profile
    """Cannot be changed later."""

    php_version: NotRequired[types.PhpVersion | None]
    """Only for sites that run PHP; the default is `8.3`."""

    region: NotRequired[str]

    git_repo: NotRequired[str | None]
    """The https or ssh URL of a git repository; required for `git_managed`."""

    git_branch: NotRequired[str | None]

    team_id: NotRequired[str | None]
    """A team that you own or administer."""

    admin: NotRequired[NewAdministrator | None]
    """Only for sites that run WordPress."""


class NewSshKey(TypedDict):
    """The fields of `NewSshKey`."""

    public_key: str
    """One line, as in a `.pub` file: Ed25519, ECDSA, a security key, or RSA with at least 2048 bits.
    Without options; certificates are not accepted.
    """

    label: NotRequired[str]
    """To recognize the key. Without it, the comment of the key is the label."""


class NewSshKeys(TypedDict):
    """The fields of `NewSshKeys`."""

    keys: Sequence[NewSshKey]
    """The complete list. An empty list removes all keys."""


class NewTeam(TypedDict):
    """The fields of `NewTeam`."""

    name: str


class NewUpload(TypedDict):
    """The fields of `NewUpload`."""

    size_bytes: int
    """The exact size of the archive. The URL accepts no other."""


class ObservabilityChange(TypedDict):
    """The fields of `ObservabilityChange`."""

    trace_sample_rate: NotRequired[float | None]


class PasswordReset(TypedDict):
    """The fields of `PasswordReset`."""

    environment: NotRequired[str]
    """An identifier, or `production`."""


class PerformanceChange(TypedDict):
    """The fields of `PerformanceChange`."""

    page_cache_ttl: NotRequired[int | None]

    php_workers: NotRequired[int | None]

    hot_page_count: NotRequired[int | None]

    hot_ttl_seconds: NotRequired[int | None]

    hot_refresh_interval_seconds: NotRequired[int | None]


class PhpSwitch(TypedDict):
    """The fields of `PhpSwitch`."""

    version: types.PhpSwitchVersion

    dry_run: NotRequired[bool]
    """Change nothing, and describe the switch instead. The response has status 200."""

    force: NotRequired[bool]
    """Switch although the code of the site does not allow the version. Each environment must still answer."""


class Pin(TypedDict):
    """The one resource that a key may see."""

    type: types.PinType

    id: str


class Preference(TypedDict):
    """The fields of `Preference`."""

    category: types.Category

    email: bool
    """Whether notifications of this category are also sent by email."""


class Preferences(TypedDict):
    """The fields of `Preferences`."""

    preferences: Sequence[Preference]
    """Email is on for categories that are not listed."""


class ProjectChange(TypedDict):
    """The fields of `ProjectChange`."""

    name: NotRequired[str]


class Promotion(TypedDict):
    """The fields of `Promotion`."""

    to_env: str
    """The environment to deploy to: its id, or `production`."""


RedirectRule = TypedDict("RedirectRule", {"from": "str", "to": "str", "code": "types.RedirectRuleCode"})


class SecurityChange(TypedDict):
    """The fields of `SecurityChange`."""

    waf_engine_mode: NotRequired[types.WafEngineMode | None]

    ip_reputation_enabled: NotRequired[bool | None]

    login_lockout_enabled: NotRequired[bool | None]

    magic_links_enabled: NotRequired[bool | None]

    allowed_ips: NotRequired[Sequence[str] | None]

    hsts_seconds: NotRequired[int | None]

    waf_partner_client_id: NotRequired[str | None]

    waf_partner_secret_key: NotRequired[str | None]
    """Can be written, but is never returned."""


class SignIn(TypedDict):
    """The fields of `SignIn`."""

    email: str

    password: str


class TeamChange(TypedDict):
    """The fields of `TeamChange`."""

    name: NotRequired[str]


class Transfer(TypedDict):
    """Send exactly one of the two fields."""

    to_team_id: NotRequired[str]

    to_client_id: NotRequired[str]
    """Your own account."""
