"""The rules of the web application firewall: OWASP's core rules, with a final decision of our own."""

DENIED_STATUS = 460
"""The status for a denied request. No visitor sees it: the inner tier replaces it by a page or continues."""

RULES = (
    "REQUEST-901-INITIALIZATION",
    "REQUEST-903.9002-WORDPRESS-EXCLUSION-RULES",
    "REQUEST-905-COMMON-EXCEPTIONS",
    "REQUEST-911-METHOD-ENFORCEMENT",
    "REQUEST-913-SCANNER-DETECTION",
    "REQUEST-920-PROTOCOL-ENFORCEMENT",
    "REQUEST-921-PROTOCOL-ATTACK",
    "REQUEST-922-MULTIPART-ATTACK",
    "REQUEST-930-APPLICATION-ATTACK-LFI",
    "REQUEST-931-APPLICATION-ATTACK-RFI",
    "REQUEST-932-APPLICATION-ATTACK-RCE",
    "REQUEST-933-APPLICATION-ATTACK-PHP",
    "REQUEST-941-APPLICATION-ATTACK-XSS",
    "REQUEST-942-APPLICATION-ATTACK-SQLI",
    "REQUEST-943-APPLICATION-ATTACK-SESSION-FIXATION",
)


def firewall_rules(crs: str, temporary: str) -> str:
    """Every rule only adds to a score. A high score denies the request with `DENIED_STATUS`, so that a 403 of
    the application is never mistaken for a denial."""
    includes = "\n".join(f"Include {crs}/{name}.conf" for name in RULES)
    return f"""SecRuleEngine On
SecRequestBodyAccess On
SecRequestBodyLimit 134217728
SecRequestBodyNoFilesLimit 1048576
SecRequestBodyLimitAction ProcessPartial
SecResponseBodyAccess Off
SecPcreMatchLimit 100000
SecPcreMatchLimitRecursion 100000
SecAuditEngine Off
SecArgumentSeparator &
SecCookieFormat 0
SecTmpDir {temporary}
SecDataDir {temporary}
SecDefaultAction "phase:1,nolog,pass"
SecDefaultAction "phase:2,nolog,pass"
SecRule REQUEST_HEADERS:Content-Type "^(?:application(?:/soap\\+|/)|text/)xml" \\
    "id:100010,phase:1,t:none,t:lowercase,pass,nolog,ctl:requestBodyProcessor=XML"
SecRule REQUEST_HEADERS:Content-Type "^application/json" \\
    "id:100011,phase:1,t:none,t:lowercase,pass,nolog,ctl:requestBodyProcessor=JSON"
SecAction "id:100012,phase:1,pass,nolog,t:none,\\
    setvar:tx.crs_setup_version=334,setvar:tx.paranoia_level=1,setvar:tx.executing_paranoia_level=1,\\
    setvar:tx.inbound_anomaly_score_threshold=5,setvar:tx.crs_exclusions_wordpress=1,\\
    setvar:'tx.allowed_methods=GET HEAD POST OPTIONS PUT PATCH DELETE'"
{includes}
SecRule TX:ANOMALY_SCORE_PL1 "@ge %{{tx.inbound_anomaly_score_threshold}}" \\
    "id:100020,phase:2,deny,status:{DENIED_STATUS},t:none,nolog"
"""
