/* Rules for files in which something may be hidden (`hiding.yar`). No other file is scanned with them. */

rule php_string_index
{
    meta:
        score = 100
        description = "Names of functions are put together from the letters of a string"
    strings:
        $index = /([\]}]\s{0,2}\.\s{0,2}\$[a-z_0-9]{1,20}\s{0,2}[\[{]\s{0,2}[0-9x]{1,4}\s{0,2}){4,}/ nocase
        $call = /\$[a-z_0-9{}]{1,20}\s{0,3}\(/ nocase
    condition:
        #index > 0 and $call and filesize < 512KB
}
