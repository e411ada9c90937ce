-- The rules of the page cache, as data; `pagecache.lua` applies them. Request headers that bypass the cache are in
-- `headers.py`, because nginx checks them itself. `tests/edge/page_cache_rows.py` has an example of every rule.
--
-- Patterns are Lua patterns. Names of headers, arguments and cookies are compared in lower case.
local M = {}

local function set(names)
  local made = {}
  for name in names:gmatch "%S+" do
    made[name] = true
  end
  return made
end

-- WordPress accepts a nonce for 12 hours at least. A page with an older one has forms that fail.
M.MAX_SECONDS = 36000
M.SHORT_SECONDS = 60

-- For how many seconds at most a response with this status is cached. All others are not cached.
M.statuses = {
  [200] = M.MAX_SECONDS,
  [301] = M.MAX_SECONDS,
  [308] = M.MAX_SECONDS,
  [404] = M.SHORT_SECONDS,
  [410] = M.SHORT_SECONDS,
}

-- A response with one of these headers is not cached.
M.personal_responses = {
  { "set-cookie", "" },
  { "cache-control", "private" },
  { "cache-control", "no%-store" },
  { "cache-control", "no%-cache" },
  { "pragma", "no%-cache" },
  { "www-authenticate", "" },
  { "content-range", "" },
  { "content-length", "^0$" },
}

-- A response may depend on these request headers. One that depends on others is not cached.
M.varied = set "accept-encoding"

-- Paths that bypass the cache, or whose pages are cached for a short time only. The first match counts. WordPress may
-- be in a directory. WooCommerce's own pages can have other names; it marks them with `Cache-Control: private`.
M.paths = {
  { "/wp%-admin$", "bypass" },
  { "/wp%-admin/", "bypass" },
  { "/wp%-json$", "bypass" },
  { "/wp%-json/", "bypass" },
  { "/wc%-api/", "bypass" },
  { "/embed/?$", "bypass" },
  { "^/cart$", "bypass" },
  { "^/cart/", "bypass" },
  { "^/checkout$", "bypass" },
  { "^/checkout/", "bypass" },
  { "^/my%-account$", "bypass" },
  { "^/my%-account/", "bypass" },
  { "/feed/?$", "short" },
  { "/feed/%w+/?$", "short" },
  { "sitemap[^/]*%.xml$", "short" },
  { "sitemap[^/]*%.xsl$", "short" },
  { "/index%.php$", "cached" },
  { "/index%.php/", "cached" },
  { "%.php$", "bypass" },
  { "%.php/", "bypass" },
}

-- What the arguments of a query do. All others belong to the page: each of their values has an entry of its own.
M.arguments = {
  -- Only scripts in the browser read them. They do not reach the application.
  ignored = set [[
    fbclid gclid gclsrc dclid gbraid wbraid gad_source gad_campaignid msclkid twclid ttclid igshid igsh li_fat_id
    mc_cid mc_eid yclid epik srsltid mkt_tok vero_id sscid usqp _ga _gl _hsenc _hsmi __hstc __hssc __hsfp
    cn-reloaded age-verified ao_noptimize ]],
  ignored_prefixes = { "^utm_", "^fb_", "^pk_", "^mtm_", "^matomo_", "^hsa_" },
  -- Previews, editors, carts, links with a secret, and interfaces for programs.
  bypass = set [[
    preview preview_id preview_nonce customize_changeset_uuid customize_theme customize_autosaved
    customize_messenger_channel elementor-preview fl_builder et_fb vc_editable brizy-edit ct_builder
    add-to-cart remove_item undo_item removed_item remove_coupon apply_coupon order_again cancel_order pay_for_order
    wc-ajax wc-api edd_action edd-add-to-cart download download_file rest_route
    _wpnonce _ajax_nonce nonce security unapproved moderation-hash replytocom key token login action
    nocache no_cache doing_wp_cron loggedout reauth ]],
  short = set "s feed sitemap sitemap-subtype sitemap-stylesheet",
}

-- One path has at most so many entries for different queries in ten minutes; further ones bypass the cache. Otherwise
-- a visitor could fill the cache, which all sites share, with pages that nobody else will request.
M.MAX_VARIANTS = 200
M.VARIANTS_SECONDS = 600

-- Cookies that only scripts in the browser read, or only WordPress's dashboard. Any other cookie may be a session.
M.harmless_cookies = {
  "^_ga$", "^_ga_", "^_gid$", "^_gat", "^_gcl_", "^__utm", "^_fbp$", "^_fbc$", "^_hj", "^_pk_", "^_clck$",
  "^_clsk$", "^_uet", "^_tt", "^_pin_", "^__gads$", "^__gpi$", "^__hs", "^hubspotutk$", "^cookieyes", "^cmplz_",
  "^cookielawinfo", "^cookieconsent$", "^cookie_notice_accepted$", "^viewed_cookie_policy$", "^optanonconsent$",
  "^optanonalertboxclosed$", "^borlabs%-cookie$", "^wordpress_test_cookie$", "^wp%-settings%-",
  -- Where a customer came from, for WooCommerce's reports; how a browser looks to Stripe and Cloudflare.
  "^sbjs_", "^tk_ai$", "^tk_qs$", "^__stripe_mid$", "^__stripe_sid$", "^__cf_bm$", "^cf_clearance$",
}

return M
