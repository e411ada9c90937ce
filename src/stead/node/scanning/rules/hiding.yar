/* Finds files in which something may be hidden. They are also scanned in the decoded view (`decoding.py`). */

rule hidden_code
{
    meta:
        score = 0
        description = "Something may be hidden"
    strings:
        $hex = /(\\x[0-9a-f]{2}[^\\'"\n]{0,2}){4}/ nocase
        $octal = /(\\[0-7]{2,3}[^\\'"\n]{0,2}){4}/
        $unicode = /(\\u\{?00[0-9a-f]{2}\}?){4}/ nocase
        $chr = /\bchr\s{0,5}\(\s{0,5}[0-9x]{2,4}\s{0,5}[-+^)]/ nocase
        $base64 = "base64_decode" nocase
        $rot13 = "str_rot13" nocase
        $inflate = "gzinflate" nocase
        $uncompress = "gzuncompress" nocase
        $gzdecode = "gzdecode" nocase
        $strrev = /\bstrrev\s{0,5}\(/ nocase
        $hex2bin = "hex2bin" nocase
        $url = /urldecode\s{0,5}\(\s{0,5}['"]/ nocase
        $uu = "uudecode" nocase
        $replace = /str_i?replace\s{0,5}\([^;]{1,200},\s{0,5}(''|"")\s{0,5},/ nocase
        $pack = /\bpack\s{0,5}\(\s{0,5}['"]H/ nocase
        $concat = /['"]\w{0,12}(['"]\.|['"]\s{1,5}\.)\s{0,5}['"]\w{0,12}['"]/
        $xor = /['"]\s{0,5}\^\s{0,5}['"]/
        $not = /~\s{0,5}['"]/
        $implode = /(implode|join)\s{0,5}\([^;]{0,40}(['"]\w{1,8}['"]\s{0,5},\s{0,5}){2}/ nocase
        $index = /(\]\.|\}\.|\] \.|\} \.)\s{0,3}\$\w{1,30}\s{0,3}[\[{]\s{0,3}[0-9x]/
        $comment = /\w\s{0,5}\/\*[^*]{0,200}\*\/\s{0,5}\(/
        $line = /(eval|assert|system|exec|passthru)[ \t]{0,10}(\/\/|#)[^\n]{0,200}\n\s{0,10}\(/ nocase
        $codes = /fromCharCode\s{0,5}\(\s{0,5}\d/
        $atob = /atob\s{0,5}\(\s{0,5}['"]/
        $unescape = /unescape\s{0,5}\(\s{0,5}['"]/
        $pieces = /['"]\w{1,10}(";|';|" ;|' ;)[^\n]{0,80}\$\w{1,30}\s{0,5}\.\s{0,5}\$\w/
        $long = /['"][A-Za-z0-9+\/]{300}/
        $braces = /\$\{\s{0,5}['"]/
        $named = /['"](eval|assert|system|exec|shell_exec|passthru|popen|create_function)['"]\s{0,5}[;)]/ nocase
    condition:
        any of them
}
