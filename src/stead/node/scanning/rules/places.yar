/* Rules for PHP in places and in files where nobody expects it. Only such files are scanned with them. */

rule php_uploads_code
{
    meta:
        score = 60
        description = "PHP among the uploads"
    strings:
        $open = /<\?(php\b|=|\s)/ nocase
    condition:
        uploads and extension matches /^(php[0-9]?|phtml|phar|pht|phps|inc|shtml)$/ and $open
}

rule php_uploads_active
{
    meta:
        score = 60
        description = "PHP among the uploads that uses the request, other files or the network"
    strings:
        $use = /\$_(GET|POST|REQUEST|COOKIE|FILES|SERVER)\b/
        $run = /(^|[^a-z0-9_>:$])(eval|assert|system|exec|shell_exec|passthru|popen|proc_open|base64_decode|gzinflate|str_rot13|file_put_contents|fwrite|include|include_once|require|require_once|move_uploaded_file|curl_exec|fsockopen|create_function|mail|call_user_func|chmod|unlink|readfile|phpinfo|highlight_file|show_source)[\s("'@$]/ nocase
        $call = /\$[a-z_0-9]{1,30}\s{0,3}\(/ nocase
        $open = "<?"
    condition:
        uploads and extension matches /^(php[0-9]?|phtml|phar|pht|phps|inc|shtml)$/ and $open and ($use or $run or $call)
}

rule php_in_other_file
{
    meta:
        score = 100
        description = "PHP in a file that looks like an image or a document"
    strings:
        $code = /<\?(php\s|=\s{0,3}[@`$a-z(])[\t\r\n\x20-\x7e]{0,2000}(\$_(GET|POST|REQUEST|COOKIE|FILES|SERVER)\b|[^a-z0-9_](eval|assert|system|shell_exec|passthru|popen|proc_open|base64_decode|gzinflate|file_put_contents|move_uploaded_file|create_function|fsockopen|phpinfo)\s{0,5}\()/ nocase
        $halted = /__HALT_COMPILER\s{0,3}\(\s{0,3}\)/ nocase
        $script = /<script\s{1,5}language\s{0,3}=\s{0,3}["']?php["']?\s{0,3}>/ nocase
        $gif = "GIF89a"
        $gif87 = "GIF87a"
        $png = { 89 50 4E 47 0D 0A 1A 0A }
        $jpeg = { FF D8 FF }
        $pdf = "%PDF-"
        $open = /<\?(php|=)/ nocase
    condition:
        (extension matches /^(jpe?g|png|gif|ico|webp|bmp|tiff?|svg|pdf|woff2?|ttf|eot|mp[34]|avi|mov|css|doc|docx|xls)$/ and ($code or $halted or $script))
        or (extension matches /^(php[0-9]?|phtml|phar|pht|inc)$/ and $open and ($gif at 0 or $gif87 at 0 or $png at 0 or $jpeg at 0 or $pdf at 0))
}
