/* Rules for files that are neither PHP nor JavaScript. */

rule htaccess_handler
{
    meta:
        score = 100
        description = "A configuration that executes files of another kind, or code before every page"
    strings:
        $handler = /(AddHandler|AddType|SetHandler)\s{1,10}["']?application\/x-httpd-(php|ea-php)[0-9a-z-]{0,10}["']?\s{1,10}[^\n]{0,80}\.(jpe?g|png|gif|ico|txt|html?|css|js|pdf|svg|webp|xml)\b/ nocase
        $files = /<FilesMatch\s{1,5}["'][^"'\n]{0,80}(jpe?g|png|gif|ico|txt|pdf)[^"'\n]{0,80}["']\s{0,5}>\s{0,20}SetHandler\s{1,10}["']?application\/x-httpd-php/ nocase
        $prepend = /(php_value\s{1,10}auto_(prepend|append)_file|^\s{0,10}auto_(prepend|append)_file\s{0,5}=)/ nocase
        $firewall = "wordfence-waf.php"
    condition:
        extension matches /^(htaccess|ini)$/ and ($handler or $files or ($prepend and not $firewall))
}

rule htaccess_redirect
{
    meta:
        score = 100
        description = "Visitors who come from search engines are sent to another site"
    strings:
        $from = /RewriteCond\s{1,10}%\{HTTP_(REFERER|USER_AGENT)\}\s{1,10}[^\n]{0,200}(google|bing|yahoo|yandex|baidu|android|iphone|mobile)/ nocase
        $to = /RewriteRule\s{1,10}\S{1,80}\s{1,10}["']?https?:\/\/[^%$\s]/ nocase
    condition:
        extension == "htaccess" and all of them
}

rule script_reverse_shell
{
    meta:
        score = 100
        description = "A script that connects a shell to another machine"
    strings:
        $perl = /^#!\s{0,3}\/usr\/(local\/)?bin\/(env\s{1,3})?perl/
        $socket = /use\s{1,3}(IO::)?Socket/
        $python = /socket\.socket\s{0,3}\(/
        $dup = /os\.dup2\s{0,3}\(/
        $shell = /["'](\/bin\/(ba)?sh|cmd\.exe)/
        $exec = /(exec|system|open)\s{0,3}[({"']/
        $tcp = /(bash|sh)\s{1,3}-i\s{0,3}[0-9]{0,1}>{1,2}\s{0,3}&?\s{0,3}\/dev\/tcp\//
        $netcat = /(nc|ncat|netcat)\s{1,3}(-[a-z]{1,4}\s{1,3}){0,3}-e\s{1,3}\/bin\//
    condition:
        filesize < 1MB and (($perl at 0 and $socket and $shell and $exec) or ($python and $dup and $shell) or $tcp or $netcat)
}

rule program_in_uploads
{
    meta:
        score = 100
        description = "A program among the uploads"
    strings:
        $elf = { 7F 45 4C 46 }
        $windows = { 4D 5A }
        $stub = "This program cannot be run in DOS mode"
    condition:
        uploads and ($elf at 0 or ($windows at 0 and $stub))
}

rule miner_configuration
{
    meta:
        score = 100
        description = "A miner of a currency"
    strings:
        $pool = /stratum\+(tcp|ssl|tls):\/\//
        $name = /xmrig|cryptonight|randomx|minerd|donate-level/ nocase
        $run = /"(pools|algo|coin)"|--(url|user|pass|coin)\b|-o\s{1,3}stratum/ nocase
    condition:
        $pool and ($name or $run)
}
