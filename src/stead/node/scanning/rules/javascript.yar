/* Rules for JavaScript and HTML, and for scripts that are injected into pages. */

rule js_card_skimmer
{
    meta:
        score = 100
        description = "A script that copies the data of credit cards"
    strings:
        $card = /cc[-_]?(number|num)\b|card[-_]?(number|num)\b|cardnumber|credit[-_]?card/ nocase
        $code = /\b(cvv2?|cvc2?|cc[-_]?cid|security[-_]?code|cc[-_]?exp|exp(iry)?[-_]?(month|year|date))\b/ nocase
        $image = /new\s{1,3}Image\s{0,3}(\(\s{0,3}\))?[^;{}]{0,40}(\.src\s{0,3}=|;[^;{}]{0,60}\.src\s{0,3}=)/
        $beacon = /navigator\s{0,3}(\.|\[["'])sendBeacon/
        $socket = /new\s{1,3}WebSocket\s{0,3}\(\s{0,3}["']wss?:/
        $script = /createElement\s{0,3}\(\s{0,3}["'](img|script)["']\s{0,3}\)[^}]{0,200}\.src\s{0,3}=\s{0,3}["']https?:\/\/[^"']{3,200}["']\s{0,3}\+/
        $post = /(fetch|\.open)\s{0,3}\([^;{}]{0,20}["']https?:\/\/[^"']{4,120}["']/
        $encode = /btoa\s{0,3}\(|encodeURIComponent\s{0,3}\(\s{0,3}JSON\s{0,2}\.\s{0,2}stringify|window\s{0,2}\[["']btoa["']\]/
        $collect = /querySelectorAll\s{0,3}\(\s{0,3}["'][^"']{0,40}(input|select|textarea)|getElementsByTagName\s{0,3}\(\s{0,3}["']input["']|addEventListener\s{0,3}\(\s{0,3}["'](submit|keyup|keydown|change|input|blur|beforeunload|mousedown)["']|on(submit|change|keyup|blur)\s{0,3}=/
    condition:
        filesize < 2MB and $card and $code and $collect and (($image and $encode) or ($beacon and $encode) or $socket or ($script and $encode) or ($post and $encode and filesize < 20KB))
}

rule js_form_skimmer
{
    meta:
        score = 100
        description = "A script that copies what visitors type at the checkout"
    strings:
        $checkout = /(checkout|onepage|firecheckout|place-?order|payment_method|woocommerce-checkout)/ nocase
        $all = /(querySelectorAll|getElementsByTagName)\s{0,3}\(\s{0,3}["'][^"'\n]{0,60}(input|select|textarea)[^"'\n]{0,60}["']\s{0,3}\)/
        $value = /\.value\b/
        $image = /\(?\s{0,2}new\s{1,3}Image\s{0,3}(\(\s{0,3}\))?\s{0,2}\)?\s{0,3}\.src\s{0,3}=\s{0,3}["'](https?:)?\/\/[^"'\n]{3,200}["']\s{0,3}\+/
        $beacon = /sendBeacon\s{0,3}\(\s{0,3}["'](https?:)?\/\/[^"'\n]{3,200}["']/
        $atob = /\.src\s{0,3}=\s{0,3}(window\s{0,2}\.\s{0,2})?atob\s{0,3}\(/
    condition:
        filesize < 512KB and $checkout and $all and $value and ($image or $beacon or $atob)
}

rule js_decoded_code
{
    meta:
        score = 100
        description = "Hidden script code is executed or written into the page"
    strings:
        $eval = /(^|[^a-z0-9_.$])(eval|Function|setTimeout|execScript)\s{0,3}\(\s{0,3}(window\s{0,2}\.\s{0,2})?(atob\s{0,3}\(\s{0,3}["']|unescape\s{0,3}\(\s{0,3}["']%|decodeURIComponent\s{0,3}\(\s{0,3}(escape\s{0,3}\(\s{0,3})?(atob|["'](%[0-9a-f]{2}){10,}))/ nocase
        $codes = /(^|[^a-z0-9_.$])(eval|Function|document\s{0,2}\.\s{0,2}write(ln)?)\s{0,3}\(\s{0,3}String\s{0,2}\.\s{0,2}fromCharCode\s{0,3}\(\s{0,3}(\d{1,3}\s{0,2},\s{0,2}){10,}/ nocase
        $written = /document\s{0,2}(\.\s{0,2}write(ln)?|\[["']write["']\])\s{0,3}\(\s{0,3}(unescape\s{0,3}\(\s{0,3}["'](%[0-9a-f]{2}){25,}|(window\s{0,2}\.\s{0,2})?atob\s{0,3}\(\s{0,3}["'])/ nocase
        $view = "stead_decoded_code("
        $packed = /(^|[^a-z0-9_.$])eval\s{0,3}\(\s{0,3}function\s{0,3}\(\s{0,3}p\s{0,3},\s{0,3}a\s{0,3},\s{0,3}c\s{0,3},\s{0,3}k\s{0,3},\s{0,3}e\s{0,3},\s{0,3}[dr]\s{0,3}\)/
        $packed_bad = /\|(iframe|WebSocket|cookie|createElement|XMLHttpRequest|location|sendBeacon|cvv|checkout)\|[^']{0,2000}\|(script|https?|src|appendChild|href|replace)\|/
        $noscript = "<?"
    condition:
        $eval or $codes or $written or (not $noscript and $view) or ($packed and $packed_bad)
}

rule js_injected_script
{
    meta:
        score = 100
        description = "A script that loads another one from an address that is hidden"
    strings:
        $codes = /\.src\s{0,3}=\s{0,3}String\s{0,2}\.\s{0,2}fromCharCode\s{0,3}\(\s{0,3}(\d{1,3}\s{0,2},\s{0,2}){8,}/
        $atob = /createElement\s{0,3}\(\s{0,3}["']script["']\s{0,3}\)[^}]{0,200}\.src\s{0,3}=\s{0,3}(window\s{0,2}\.\s{0,2})?atob\s{0,3}\(\s{0,3}["']/
        $reversed = /\.src\s{0,3}=\s{0,3}["'][^"'\n]{6,200}["']\s{0,3}\.\s{0,2}split\s{0,3}\(\s{0,3}["']{2}\s{0,3}\)\s{0,3}\.\s{0,2}reverse\s{0,3}\(\s{0,3}\)\s{0,3}\.\s{0,2}join/
        $ndsw = /\bif\s{0,3}\(\s{0,3}(typeof\s{1,3})?nds[wjx]\s{0,3}={2,3}\s{0,3}["']?undefined/
        $ndsw_variable = /\bvar\s{1,3}nds[wjx]\s{0,3}=\s{0,3}true/
    condition:
        any of them
}

rule js_redirect
{
    meta:
        score = 100
        description = "Visitors are sent to a hidden address, depending on where they come from"
    strings:
        $from = /document\s{0,2}\.\s{0,2}(referrer|cookie)|navigator\s{0,2}\.\s{0,2}userAgent/
        $which = /(google|bing|yahoo|yandex|facebook|android|iphone)/ nocase
        $to = /(window|document|top|self|parent)?\.?\s{0,2}location(\s{0,2}\.\s{0,2}(href|replace|assign))?\s{0,3}(=|\()\s{0,3}(window\s{0,2}\.\s{0,2})?(atob\s{0,3}\(|String\s{0,2}\.\s{0,2}fromCharCode\s{0,3}\(|unescape\s{0,3}\(|["'](\\x[0-9a-f]{2}){5,})/
    condition:
        filesize < 512KB and $from and $which and $to
}

rule js_miner
{
    meta:
        score = 100
        description = "A script that mines a currency with the machines of visitors"
    strings:
        $a = /coin-?hive(\.min)?\.js/ nocase
        $b = /new\s{1,3}(CoinHive|CryptoLoot|Client|deepMiner|CRLT)\s{0,3}\.\s{0,2}(Anonymous|User|Init)\s{0,3}\(/
        $c = "authedmine.com" nocase
        $d = /cryptonight[^"'\n]{0,40}\.(wasm|asm\.js)/ nocase
        $e = /webmine(pool|r)?\.(cz|com|pro)\/(worker|lib|miner)/ nocase
        $start = /\.start\s{0,3}\(/
    condition:
        $b or $d or $e or (($a or $c) and $start)
}

rule html_hidden_frame
{
    meta:
        score = 100
        description = "An invisible frame with a page of another site"
    strings:
        $frame = /<iframe[^>]{0,300}src\s{0,3}=\s{0,3}["'\\]{0,3}https?:\/\/[^>]{3,300}(width\s{0,3}=\s{0,3}["'\\]{0,3}[01]["'\\\s>][^>]{0,120}height\s{0,3}=\s{0,3}["'\\]{0,3}[01]["'\\\s>]|style\s{0,3}=\s{0,3}["'\\]{0,3}[^"'>]{0,80}(left|top)\s{0,2}:\s{0,2}-[0-9]{3,6}px)/ nocase
        $manager = /googletagmanager\.com|facebook\.com\/tr|doubleclick\.net|recaptcha|stripe\.com|youtube\.com|vimeo\.com/ nocase
        $written = /document\s{0,2}\.\s{0,2}write\s{0,3}\(\s{0,3}["']<iframe[^)]{0,300}(width|height)\s{0,3}=\s{0,3}["'\\]{0,3}[01]["'\\\s>]/ nocase
    condition:
        ($frame or $written) and not $manager
}

rule html_spam_links
{
    meta:
        score = 100
        description = "Hidden links of spam"
    strings:
        $style = /(display\s{0,2}:\s{0,2}none|(left|top|text-indent)\s{0,2}:\s{0,2}-[0-9]{4,6}px|visibility\s{0,2}:\s{0,2}hidden|height\s{0,2}:\s{0,2}0(px)?\s{0,2};\s{0,2}overflow)/ nocase
        $link = /<a\s[^>]{0,200}href\s{0,2}=\s{0,2}["'\\]{0,3}https?:\/\/[^>]{1,300}>[^<]{0,80}(viagra|cialis|levitra|casino|slot|judi|togel|replica|payday|porn|betting|louis vuitton)/ nocase
    condition:
        $style and #link > 1
}
