# Generated from the API description by `make generate`.
"""Objects in requests. They are dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


class AccountClosure(TypedDict):
    """The fields of `AccountClosure`."""

    current_password: str


class Assignment(TypedDict):
    """The fields of `Assignment`."""

    site_id: str


class Binding(TypedDict):
    """The fields of `Binding`."""

    kind: types.BindingKind
    """`cron` is refused: there are no scheduled functions."""

    name: str
    """The name in `env`."""

    config: NotRequired[BindingConfig]


class BindingConfig(TypedDict):
    """Which fields it has depends on the kind of the binding."""

    namespace: NotRequired[str]
    """Of `kv` and `coord`: functions of the site with the same namespace share its data."""

    allow: NotRequired[Sequence[str]]
    """Of `fetch`: `host`, `*.host` or `host:port`."""

    function: NotRequired[str]
    """Of `service`: the slug of another function of the site."""


class BranchRule(TypedDict):
    """The fields of `BranchRule`."""

    pattern: str
    """The name of a branch, or a glob: `*` matches anything except `/`, `**` matches anything."""

    target: types.BranchRuleTarget
    """The environment that is built: `live` and `staging` are those of the site; `preview` is created for
    the branch; `ignore` builds nothing.
    """


class CmsUserChange(TypedDict):
    """Fields that are left out stay as they are."""

    email: NotRequired[str]

    role: NotRequired[str]
    """The name of a role of the site. An administrator can install plugins, and so run code."""

    display_name: NotRequired[str]

    first_name: NotRequired[str]

    last_name: NotRequired[str]

    password_delivery: NotRequired[types.PasswordDelivery]
    """`reset_mail`: WordPress sends a mail with a link to choose a password. `response`: a new random
    password is in this response, and nowhere else. `none`: the user can ask for a mail on the sign-in
    page.
    """


class ComponentBatch(TypedDict):
    """The fields of `ComponentBatch`."""

    operations: Sequence[ComponentOperation]


class ComponentOperation(TypedDict):
    """The fields of `ComponentOperation`."""

    action: types.Action

    kind: types.ComponentOperationKind

    slug: str

    version: NotRequired[str]
    """`latest`, or a version."""

    force: NotRequired[bool]
    """Also a version that has a known vulnerability."""


class ComponentUpdate(TypedDict):
    """A version, a status, or both."""

    version: NotRequired[str]
    """`latest`, or a version."""

    status: NotRequired[types.ComponentUpdateStatus]

    force: NotRequired[bool]
    """Also a version that has a known vulnerability."""


class ConfigurationChange(TypedDict):
    """Fields that are not sent keep their value; null restores the inherited or default value."""

    security: NotRequired[SecurityChange]

    performance: NotRequired[PerformanceChange]

    observability: NotRequired[ObservabilityChange]

    serving: NotRequired[ServingChange]


class ContentBatch(TypedDict):
    """The fields of `ContentBatch`."""

    operations: Sequence[ContentOperation]


class ContentChange(TypedDict):
    """Fields that are left out stay as they are. A status takes content out of the trash."""

    title: NotRequired[str]

    content: NotRequired[str]
    """Blocks or HTML, as WordPress stores it. Scripts and other unsafe HTML are removed."""

    excerpt: NotRequired[str]

    slug: NotRequired[str]

    status: NotRequired[types.ContentStatus]

    date: NotRequired[str]
    """When it was or will be published. A time in the future needs the status `future`."""

    author: NotRequired[str]
    """The id of a user."""

    parent: NotRequired[str]
    """The id of a page."""

    featured_media: NotRequired[str]
    """The id of a file."""

    terms: NotRequired[Sequence[NewTerms]]
    """Replaces the terms of each taxonomy that is named."""

    meta: NotRequired[Sequence[NewMeta]]
    """Only values that a plugin has registered for the REST API."""


class ContentOperation(TypedDict):
    """`create` needs `new`; `update` needs `id` and `change`; `delete` needs `id`."""

    action: types.ContentOperationAction

    id: NotRequired[str]

    new: NotRequired[NewContent]

    change: NotRequired[ContentChange]


class CronChange(TypedDict):
    """Fields that are left out stay as they are."""

    schedule: NotRequired[str]
    """The name of a recurrence of the site, such as `hourly` or `daily`, or the time of an event that runs
    once.
    """

    args: NotRequired[Sequence[str | int | float | bool | None]]
    """What the hook is called with."""


class Deletion(TypedDict):
    """The fields of `Deletion`."""

    confirm_domain: str
    """The domain of the site, to confirm the deletion."""


class DeviceTokenRequest(TypedDict):
    """The fields of `DeviceTokenRequest`."""

    device_code: str
    """The secret of the device. Nobody else may know it."""


class EmailVerification(TypedDict):
    """The fields of `EmailVerification`."""

    token: str
    """From the email."""

    password: NotRequired[str | None]
    """The password of the sign-up. Required if the token was sent because of one: it shows that the
    sign-up is yours, and not of somebody else who used your address.
    """


class EndpointChange(TypedDict):
    """The fields of `EndpointChange`."""

    url: NotRequired[str]
    """HTTPS, port 443 or 8443, publicly reachable."""

    event_types: NotRequired[Sequence[str]]
    """`*`, event types, or `category:<name>` for all current and future types of a category."""

    description: NotRequired[str | None]

    enabled: NotRequired[bool]


class FunctionChange(TypedDict):
    """Absent fields stay as they are."""

    display_name: NotRequired[str]

    bindings: NotRequired[Sequence[Binding]]

    secret_refs: NotRequired[Sequence[str]]
    """Keys of secrets of the production environment, which the function reads as variables."""

    env: NotRequired[Mapping[str, str]]
    """Variables of the function. For secrets, use `secret_refs`."""

    limits: NotRequired[Limits]

    route_path: NotRequired[str]
    """The path that the function answers, and everything below it; `/_fn/<slug>` if empty."""

    fresh_instances: NotRequired[bool]
    """Whether every request gets an instance of its own. Otherwise an instance handles up to 1,000
    requests, one at a time.
    """

    compatibility_date: NotRequired[str]
    """The interfaces of the platform behave as they did on this day, whatever changes later. Applies from
    the next build on.
    """


class FunctionRollback(TypedDict):
    """The fields of `FunctionRollback`."""

    version_id: str
    """A version of this function."""


HeaderSetting = TypedDict("HeaderSetting", {"for": "str", "values": "Mapping[str, str | None]"})


class KeyChange(TypedDict):
    """The fields of `KeyChange`."""

    name: NotRequired[str | None]

    scopes: NotRequired[Sequence[types.Scope]]
    """Only scopes that the key already has."""


class Limits(TypedDict):
    """The fields of `Limits`."""

    memory_mb: NotRequired[int]

    wall_ms: NotRequired[int]
    """How long a request may take."""

    request_bytes: NotRequired[int]

    requests_per_second: NotRequired[int]


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

    forge: NotRequired[NewForge | None]
    """The forge that gets commit statuses, and comments with the URL of a preview. It stays as it is if it
    is not sent; null removes the token.
    """


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


class NewCmsUser(TypedDict):
    """The fields of `NewCmsUser`."""

    email: str

    login: str
    """Cannot be changed later."""

    role: NotRequired[str]
    """The name of a role of the site. An administrator can install plugins, and so run code."""

    display_name: NotRequired[str]

    first_name: NotRequired[str]

    last_name: NotRequired[str]

    password_delivery: NotRequired[types.PasswordDelivery]
    """`reset_mail`: WordPress sends a mail with a link to choose a password. `response`: a new random
    password is in this response, and nowhere else. `none`: the user can ask for a mail on the sign-in
    page.
    """


class NewCommand(TypedDict):
    """The fields of `NewCommand`."""

    args: Sequence[str]
    """The arguments, without the name of the program."""

    shell: NotRequired[types.CommandShell]
    """The program: WP-CLI, or bash, which needs the scope `exec:raw`."""


class NewComponent(TypedDict):
    """The fields of `NewComponent`."""

    kind: types.ComponentKind
    """A theme also needs the scope `cms.themes:write`."""

    slug: str

    source: NotRequired[str]
    """`registry`, or the id of an upload that is a zip file with the directory of the plugin or theme."""

    version: NotRequired[str]
    """`latest`, or a version."""

    activate: NotRequired[bool]

    force: NotRequired[bool]
    """Also a version that has a known vulnerability."""


class NewContent(TypedDict):
    """The fields of `NewContent`."""

    type: NotRequired[types.ContentType]

    source: NotRequired[str]
    """Of `media`: the id of an upload of the site, of at most 32 MiB."""

    filename: NotRequired[str]
    """Of `media`. WordPress accepts it by its type, and may change it."""

    title: NotRequired[str]

    content: NotRequired[str]
    """Blocks or HTML, as WordPress stores it. Scripts and other unsafe HTML are removed."""

    excerpt: NotRequired[str]

    slug: NotRequired[str]

    status: NotRequired[types.ContentStatus]

    date: NotRequired[str]
    """When it was or will be published. A time in the future needs the status `future`."""

    author: NotRequired[str]
    """The id of a user."""

    parent: NotRequired[str]
    """The id of a page."""

    featured_media: NotRequired[str]
    """The id of a file."""

    terms: NotRequired[Sequence[NewTerms]]
    """Replaces the terms of each taxonomy that is named."""

    meta: NotRequired[Sequence[NewMeta]]
    """Only values that a plugin has registered for the REST API."""


class NewCron(TypedDict):
    """The fields of `NewCron`."""

    hook: str

    schedule: str
    """The name of a recurrence of the site, such as `hourly` or `daily`, or the time of an event that runs
    once.
    """

    args: NotRequired[Sequence[str | int | float | bool | None]]
    """What the hook is called with."""


class NewDeployment(TypedDict):
    """The fields of `NewDeployment`."""

    artifact_id: str
    """An artifact of this site, built for any of its environments."""


class NewDeviceAuthorization(TypedDict):
    """The fields of `NewDeviceAuthorization`."""

    machine_name: str
    """Shown to the person who approves; the key has this name."""

    scopes: NotRequired[Sequence[types.Scope] | None]
    """Of the key. By default everything except isolated scopes."""


class NewDomain(TypedDict):
    """The fields of `NewDomain`."""

    hostname: str
    """Internationalized names and wildcards are accepted."""

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


class NewExport(TypedDict):
    """The fields of `NewExport`."""

    tables: NotRequired[Sequence[str]]
    """All tables if it is empty."""

    compress: NotRequired[bool]
    """With gzip."""

    query: NotRequired[str]
    """Export the result of one statement that reads instead of tables, each row as a line of JSON. It may
    take 5 minutes and return 1 GiB.
    """

    params: NotRequired[Sequence[str | int | float | bool | None]]
    """Of `query`, in the order of the `?`."""


class NewForge(TypedDict):
    """The fields of `NewForge`."""

    kind: types.ForgeKind
    """The kind of forge."""

    token: str
    """A token that may write commit statuses and comments. Can be written, but is never returned. It is
    sent only to the host of the repository.
    """


class NewFunction(TypedDict):
    """The fields of `NewFunction`."""

    site_id: str
    """A site with the profile `wasm`."""

    slug: str
    """Lowercase letters, digits and hyphens; unique in the site."""

    display_name: str

    language: NotRequired[types.Language]

    bindings: NotRequired[Sequence[Binding]]

    secret_refs: NotRequired[Sequence[str]]
    """Keys of secrets of the production environment, which the function reads as variables."""

    env: NotRequired[Mapping[str, str]]
    """Variables of the function. For secrets, use `secret_refs`."""

    limits: NotRequired[Limits]

    route_path: NotRequired[str]
    """The path that the function answers, and everything below it; `/_fn/<slug>` if empty."""

    fresh_instances: NotRequired[bool]
    """Whether every request gets an instance of its own. Otherwise an instance handles up to 1,000
    requests, one at a time.
    """

    compatibility_date: NotRequired[str | None]
    """The day of its creation, unless told."""

    source: NotRequired[str | None]

    upload_id: NotRequired[str | None]

    filename: NotRequired[str | None]

    auto_deploy: NotRequired[bool]
    """Whether the function is deployed when its build has succeeded."""


class NewFunctionBuild(TypedDict):
    """The fields of `NewFunctionBuild`."""

    source: NotRequired[str | None]
    """If absent, the stored source is built again."""

    upload_id: NotRequired[str | None]

    filename: NotRequired[str | None]

    auto_deploy: NotRequired[bool]
    """Whether the function is deployed when its build has succeeded."""


class NewFunctionDeployment(TypedDict):
    """The fields of `NewFunctionDeployment`."""

    artifact_id: str
    """An artifact that was built for this function."""


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


class NewLock(TypedDict):
    """The fields of `NewLock`."""

    reason: str
    """Shown to everyone who can see the environment."""


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


class NewMeta(TypedDict):
    """The fields of `NewMeta`."""

    key: str

    value: str


class NewPasswordReset(TypedDict):
    """The fields of `NewPasswordReset`."""

    email: str


class NewPreferences(TypedDict):
    """The fields of `NewPreferences`."""

    preferences: Sequence[Preference]
    """Email is on for categories that are not listed."""


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


class NewQuery(TypedDict):
    """The fields of `NewQuery`."""

    query: str
    """One statement. Each `?` stands for a value of `params`."""

    params: NotRequired[Sequence[str | int | float | bool | None]]
    """In the order of the `?`."""

    limit: NotRequired[int]
    """The most rows to return."""


class NewRecord(TypedDict):
    """The fields of `NewRecord`."""

    type: types.RecordType

    name: str
    """Relative to the zone, or complete. `@` is the zone itself; `*` is a wildcard."""

    value: str
    """An address, a host name or text. SRV: weight, port and target. CAA: flags, tag, value."""

    ttl: NotRequired[int]
    """In seconds."""

    priority: NotRequired[int | None]


class NewRedirects(TypedDict):
    """The fields of `NewRedirects`."""

    redirects: Sequence[RedirectRule]
    """The complete set of rules, with at most 512 KiB of paths and destinations. An empty list removes
    all.
    """


class NewSecret(TypedDict):
    """The fields of `NewSecret`."""

    value: str
    """Can have several lines. Only builds read it."""

    plain: NotRequired[bool]
    """It is not a secret: its value is returned, and not masked in the output of builds."""

    previews: NotRequired[bool]
    """Only for production: builds of branch environments get it too, unless they have one of the same
    name.
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


class NewStatement(TypedDict):
    """The fields of `NewStatement`."""

    query: str
    """One statement. Each `?` stands for a value of `params`."""

    params: NotRequired[Sequence[str | int | float | bool | None]]
    """In the order of the `?`."""

    confirm: NotRequired[bool]
    """Without it, the change is made and taken back at once."""


class NewTeam(TypedDict):
    """The fields of `NewTeam`."""

    name: str


class NewTerms(TypedDict):
    """The fields of `NewTerms`."""

    taxonomy: str

    names: Sequence[str]
    """Terms that do not exist are created."""


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


class PasswordResetConfirmation(TypedDict):
    """The fields of `PasswordResetConfirmation`."""

    token: str
    """From the email."""

    new_password: str


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


class ProjectChange(TypedDict):
    """The fields of `ProjectChange`."""

    name: NotRequired[str]


class Promotion(TypedDict):
    """The fields of `Promotion`."""

    to_env: str
    """The environment to deploy to: its id, or `production`."""


class RecordChange(TypedDict):
    """Fields that are left out stay as they are."""

    value: NotRequired[str]
    """An address, a host name or text. SRV: weight, port and target. CAA: flags, tag, value."""

    ttl: NotRequired[int]
    """In seconds."""

    priority: NotRequired[int]
    """Of MX and SRV records."""


RedirectRule = TypedDict("RedirectRule", {"from": "str", "to": "str", "code": "types.RedirectRuleCode"})


class Restoration(TypedDict):
    """The fields of `Restoration`."""

    mark_ignored: NotRequired[bool]
    """Later scans ignore files with this hash."""


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

    preview_protection: NotRequired[types.PreviewProtection | None]

    preview_password: NotRequired[str | None]
    """For `preview_protection: password`. Can be written, but is never returned. Those who have entered an
    earlier password must enter the new one.
    """


class ServingChange(TypedDict):
    """The fields of `ServingChange`."""

    headers: NotRequired[Sequence[HeaderSetting] | None]


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
