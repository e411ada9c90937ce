/*
 * Rules for PHP. Written for Stead; the licence is that of the project.
 *
 * `score` says how much a match counts. A file is infected from 100 points on: rules that also match ordinary
 * code have fewer, so that two independent ones are needed. Every rule sees the file as it is and a view in which
 * hidden code is written out (`view`). `uploads` says whether the file is in the directory for uploads, and
 * `extension` is its extension in small letters.
 */

rule php_eval_request
{
    meta:
        score = 100
        description = "Code from the request is executed"
    strings:
        $call = /(^|[^a-z0-9_>:$])(eval|assert)\s{0,20}\(\s{0,20}[@("']*\s{0,5}(\?>["']\s{0,5}\.\s{0,5})?([a-z_0-9]{1,40}\s{0,5}\(\s{0,5}["']?){0,6}@?\$(\{["']_|_)(GET|POST|REQUEST|COOKIE|SERVER|FILES|SESSION|ENV)\b/ nocase
        $global = /(^|[^a-z0-9_>:$])(eval|assert)\s{0,20}\([^;\n]{0,80}\$GLOBALS\s{0,5}\[\s{0,5}["']_(GET|POST|REQUEST|COOKIE)/ nocase
        $input = /(^|[^a-z0-9_>:$])(eval|assert)\s{0,20}\([^;\n]{0,60}file_get_contents\s{0,5}\(\s{0,5}["']php:\/\/input/ nocase
        $headers = /(^|[^a-z0-9_>:$])(eval|assert)\s{0,20}\([^;\n]{0,60}(getallheaders|apache_request_headers)\s{0,5}\(/ nocase
    condition:
        any of them
}

rule php_command_request
{
    meta:
        score = 100
        description = "A command from the request is executed"
    strings:
        $call = /(^|[^a-z0-9_>:$])(system|exec|shell_exec|passthru|popen|proc_open|pcntl_exec|expect_popen)\s{0,20}\(\s{0,20}[^;{}\n]{0,80}\$(\{["']_|_)(GET|POST|REQUEST|COOKIE)\b/ nocase
        $tick = /(echo|print|return|=|die\(|exit\()\s{0,10}`[^`\n]{0,200}\$_(GET|POST|REQUEST|COOKIE)/ nocase
        $header = /(^|[^a-z0-9_>:$])(system|exec|shell_exec|passthru|popen|proc_open)\s{0,20}\(\s{0,20}[^;{}\n]{0,40}\$_SERVER\s{0,5}\[\s{0,5}["']HTTP_/ nocase
    condition:
        any of them
}

rule php_command_variable
{
    meta:
        score = 100
        description = "A value of the request is kept in a variable and executed as a command"
    strings:
        $call = /\$([a-z_0-9]{1,20})\s{0,5}=\s{0,5}@?(base64_decode\s{0,3}\(|trim\s{0,3}\(|stripslashes\s{0,3}\(|urldecode\s{0,3}\()?\s{0,3}\$_(GET|POST|REQUEST|COOKIE)\s{0,3}\[[^\]\n]{1,40}\]\s{0,3}\)?\s{0,3};[^{}]{0,160}[^a-z0-9_>:$](system|shell_exec|passthru|popen|proc_open|eval|assert)\s{0,5}\(\s{0,5}\$[a-z_0-9]{1,20}\b/ nocase
    condition:
        filesize < 64KB and any of them
}

rule php_request_call
{
    meta:
        score = 100
        description = "A function that the request names is called"
    strings:
        $get = /[^a-z0-9_'"`]\$_(GET|POST|REQUEST|COOKIE)\s{0,5}(\[[^\]\n]{1,60}\]|\{[^}\n]{1,60}\})\s{0,5}\(\s{0,5}[@$"'a-z)]/ nocase
        $variable = /\$\{?\s{0,3}["']_["']\s{0,3}\.\s{0,3}["'](GET|POST|REQUEST)/ nocase
        $curly = /\$\{\s{0,3}["']_(GET|POST|REQUEST|COOKIE)["']\s{0,3}\}\s{0,3}[\[{]/ nocase
    condition:
        any of them
}

rule php_named_by_request
{
    meta:
        score = 100
        description = "A variable gets the name of a function from the request and is called"
    strings:
        $call = /\$[a-z_0-9]{1,30}\s{0,5}=\s{0,5}@?(base64_decode\s{0,3}\(|str_rot13\s{0,3}\(|strrev\s{0,3}\(|hex2bin\s{0,3}\()?\$_(GET|POST|REQUEST|COOKIE)\s{0,3}\[[^\]\n]{1,40}\]\)?\s{0,3};\s{0,40}(@|echo|print|\$[a-z_0-9]{1,30}\s{0,3}=|\s)*\$[a-z_0-9]{1,30}\s{0,3}\(\s{0,3}(@?\$_(GET|POST|REQUEST|COOKIE)|base64_decode)/ nocase
        $both = /\$[a-z_0-9]{1,30}\s{0,3}\(\s{0,3}@?\$_(GET|POST|REQUEST|COOKIE)\s{0,3}\[[^\]\n]{1,40}\]\s{0,3}(,\s{0,3}@?\$_(GET|POST|REQUEST|COOKIE)\s{0,3}\[[^\]\n]{1,40}\]\s{0,3}){1,3}\)/ nocase
        $list = /@?\$[a-z_0-9]{1,30}\[\d{1,3}\]\s{0,3}\(\s{0,3}@?\$[a-z_0-9]{1,30}\[\d{1,3}\]/ nocase
        $cookie = "$_COOKIE" nocase
        $new = /new\s{1,5}ReflectionFunction\s{0,3}\(\s{0,3}@?(\$_(GET|POST|REQUEST|COOKIE)|["'](system|exec|assert|passthru|shell_exec)["'])/ nocase
    condition:
        $call or $both or $new or (filesize < 16KB and $list and $cookie)
}

rule php_eval_decoded
{
    meta:
        score = 100
        description = "Code that is stored in another form is executed"
    strings:
        $call = /(^|[^a-z0-9_>:$])(eval|assert)\s{0,20}\(\s{0,20}[@("'?>.\s]{0,20}(base64_decode|gzinflate|gzuncompress|gzdecode|str_rot13|strrev|convert_uudecode|hex2bin|rawurldecode|urldecode|openssl_decrypt|mcrypt_decrypt|html_entity_decode|curl_exec|bzdecompress)\s{0,5}\(/ nocase
        $fetched = /(^|[^a-z0-9_>:$])(eval|assert)\s{0,20}\(\s{0,20}[@("'?>.\s]{0,20}(file_get_contents|curl_exec|fread|stream_get_contents)\s{0,5}\(\s{0,5}["']?(https?:|ftp:|\$|__FILE__)/ nocase
        $later = /(base64_decode|gzinflate|gzuncompress|str_rot13|convert_uudecode|hex2bin|openssl_decrypt)\s{0,5}\([^;]{0,300};\s{0,20}(@|echo|print|\s|\}){0,10}(eval|assert)\s{0,5}\(\s{0,5}(["']\s{0,3}\?>\s{0,3}["']\s{0,3}\.\s{0,3})?\$/ nocase
        $view = "stead_decoded_code("
        $offset = /eval\s{0,5}\([^;\n]{0,60}substr\s{0,5}\(\s{0,5}file_get_contents\s{0,5}\(\s{0,5}__FILE__/ nocase
        $halt = /eval\s{0,5}\([^;\n]{0,80}__COMPILER_HALT_OFFSET__/ nocase
    condition:
        any of them
}

rule php_eval_fetched
{
    meta:
        score = 100
        description = "Code that is downloaded is executed"
    strings:
        $fetch = /(file_get_contents|curl_init|fopen|wp_remote_get|wp_remote_retrieve_body|readfile)\s{0,5}\(\s{0,5}["'](https?|ftp):\/\// nocase
        $eval = /(^|[^a-z0-9_>:$])eval\s{0,5}\(\s{0,5}(["']\s{0,3}\?>\s{0,3}["']\s{0,3}\.\s{0,3})?\$[a-z_0-9]{1,40}\s{0,3}\)/ nocase
    condition:
        filesize < 256KB and all of them
}

rule php_replace_eval
{
    meta:
        score = 100
        description = "A pattern executes what it finds"
    strings:
        $modifier = /preg_replace\s{0,5}\(\s{0,5}["']([\/#~|@!%])[^"'\n]{0,80}[\/#~|@!%][imsxuADSUXJ]{0,6}e[imsxuADSUXJ]{0,6}["']\s{0,5},[^;]{0,120}(\$_(GET|POST|REQUEST|COOKIE|SERVER)|base64_decode|eval|gzinflate|system|assert)/ nocase
        $ereg = /mb_ereg(i)?_replace\s{0,5}\([^;]{0,160}["']e["']\s{0,5}\)/ nocase
    condition:
        any of them
}

rule php_made_function
{
    meta:
        score = 100
        description = "A function is made of a value of the request, or of hidden code"
    strings:
        $made = /create_function\s{0,5}\(\s{0,5}[^,;]{0,60},\s{0,5}[@(]{0,3}\s{0,3}(\$_(GET|POST|REQUEST|COOKIE)|base64_decode|gzinflate|str_rot13|stripslashes\s{0,3}\(\s{0,3}\$_)/ nocase
        $quoted = /create_function\s{0,5}\(\s{0,5}["'][^"']{0,40}["']\s{0,5},\s{0,5}["'][^"']{0,80}(eval|assert|system)\s{0,3}\(/ nocase
    condition:
        any of them
}

rule php_callback_request
{
    meta:
        score = 100
        description = "A callback is named by the request, or is a function that executes commands"
    strings:
        $first = /(array_map|array_filter|usort|uasort|uksort|call_user_func|call_user_func_array|register_shutdown_function|array_walk|array_walk_recursive|array_reduce|register_tick_function|iterator_apply|array_udiff|array_diff_ukey|array_uintersect|ob_start|forward_static_call|filter_var)\s{0,5}\(\s{0,5}@?((base64_decode|strrev|str_rot13)\s{0,5}\(\s{0,5})?\$_(GET|POST|REQUEST|COOKIE)\s{0,3}[\[{]/ nocase
        $named = /(array_map|array_filter|usort|uasort|uksort|call_user_func|call_user_func_array|register_shutdown_function|array_walk|array_walk_recursive|array_reduce|register_tick_function|ob_start|forward_static_call|array_udiff|array_diff_ukey)\s{0,5}\([^;\n]{0,80}["'](assert|system|exec|shell_exec|passthru|popen|proc_open|pcntl_exec|eval)["']/ nocase
        $second = /(array_filter|usort|uasort|uksort|array_walk|array_reduce|register_shutdown_function|preg_replace_callback)\s{0,5}\([^;\n]{0,80},\s{0,5}@?\$_(GET|POST|REQUEST|COOKIE)\s{0,3}\[[^\]\n]{1,40}\]\s{0,3}\)/ nocase
        $create = /(array_map|array_filter|usort|call_user_func|array_walk)\s{0,5}\(\s{0,5}create_function\s{0,5}\([^;\n]{0,120}\$_(GET|POST|REQUEST|COOKIE)/ nocase
    condition:
        any of them
}

rule php_include_elsewhere
{
    meta:
        score = 100
        description = "Code is loaded from the request, from another server, or from a file that looks like an image"
    strings:
        $remote = /(^|[^a-z0-9_>:$])(include|require)(_once)?[\s(@]{1,10}["'](https?:\/\/|ftp:\/\/|data:[a-z\/]{0,20}[;,]|php:\/\/(input|filter)|expect:\/\/|zip:\/\/)/ nocase
        $archive = /(^|[^a-z0-9_>:$])(include|require)(_once)?[\s(@]{1,10}["']phar:\/\/[^"'\n]/ nocase
        $named = /(^|[^a-z0-9_>:$])(include|require)(_once)?[\s(@]{1,10}["']phar:\/\/[^"'\n]{1,200}\.phar\// nocase
        $request = /(^|[^a-z0-9_>:$])(include|require)(_once)?[\s(@]{1,10}(base64_decode\s{0,3}\(|urldecode\s{0,3}\()?\$_(GET|POST|REQUEST|COOKIE|FILES)\b/ nocase
        $image = /@\s{0,3}(include|require)(_once)?[\s(]{1,10}["'][^"'\n]{1,250}\.(ico|jpe?g|png|gif|bmp|webp|woff2?|ttf)["']/ nocase
        $escaped = /(include|require)(_once)?[\s(@]{1,10}"([^"\n\\]{0,10}(\\[0-7]{2,3}|\\x[0-9a-f]{2})){4,}/ nocase
        $wrapped = /(include|require)(_once)?[\s(@]{1,10}(\(?["'][a-z]{0,6}["']\s{0,3}\.\s{0,3}){2,}/ nocase
    condition:
        $remote or $request or $image or $escaped or $wrapped or #archive > #named
}

rule php_reverse_shell
{
    meta:
        score = 100
        description = "A shell is connected to another machine"
    strings:
        $connect = /(fsockopen|pfsockopen|stream_socket_client|socket_connect|socket_bind|stream_socket_server)\s{0,5}\(/ nocase
        $shell = /["'\s](\/bin\/(ba)?sh|cmd\.exe)\b/ nocase
        $start = /(^|[^a-z0-9_>:$])(proc_open|shell_exec|popen|exec|system|passthru)\s{0,5}\(/ nocase
        $tcp = /(bash|sh)\s{1,3}-i\s{0,3}[0-9]{0,1}>{1,2}\s{0,3}&?\s{0,3}\/dev\/tcp\// nocase
        $netcat = /(nc|ncat|netcat)\s{1,3}(-[a-z]{1,4}\s{1,3}){0,3}-e\s{1,3}\/bin\// nocase
    condition:
        for any i in (1..#shell) : (
            $connect in (@shell[i] - 8000..@shell[i] + 8000) and $start in (@shell[i] - 8000..@shell[i] + 8000)
        )
        or $tcp or $netcat
}

rule php_open_uploader
{
    meta:
        score = 60
        description = "A file of the request is stored under a name of the request"
    strings:
        $direct = /(move_uploaded_file|copy)\s{0,5}\(\s{0,5}@?\$_FILES\s{0,3}\[[^\]]{1,40}\]\s{0,3}\[[^\]]{1,40}\]\s{0,5},\s{0,5}[^;]{0,80}(\$_FILES|\$_(POST|GET|REQUEST)|getcwd|basename|\.php)/ nocase
        $renamed = /(move_uploaded_file|copy)\s{0,5}\(\s{0,5}@?\$[a-z_0-9]{1,30}\s{0,3}(\[[^\]]{1,40}\])?\s{0,5},\s{0,5}[^;]{0,60}(\$_(POST|GET|REQUEST)|\.php["'])/ nocase
    condition:
        any of them
}

rule php_upload_form
{
    meta:
        score = 60
        description = "A page that accepts any file from anybody"
    strings:
        $form = /enctype\s{0,3}=\s{0,3}["'\\]{0,3}multipart\/form-data/ nocase
        $input = /type\s{0,3}=\s{0,3}["'\\]{0,3}file/ nocase
        $store = /(move_uploaded_file|copy|file_put_contents|rename)\s{0,5}\(\s{0,5}@?\$_FILES/ nocase
        $checked = /wp_verify_nonce|current_user_can|check_admin_referer|wp_handle_upload|namespace\s|\bclass\s/ nocase
    condition:
        filesize < 128KB and $form and $input and $store and not $checked
}

rule php_uploader_hidden
{
    meta:
        score = 100
        description = "An uploader that only those see who know its parameter"
    strings:
        $gate = /(isset|!\s{0,2}empty|if\s{0,3})\s{0,5}\(\s{0,5}(isset\s{0,3}\(\s{0,3})?\$_(GET|POST|REQUEST|COOKIE|SERVER)/ nocase
        $direct = /(move_uploaded_file|copy)\s{0,5}\(\s{0,5}@?\$_FILES\s{0,3}\[[^\]]{1,40}\]\s{0,3}\[[^\]]{1,40}\]\s{0,5},\s{0,5}@?(\$_FILES\s{0,3}\[[^\]]{1,40}\]\s{0,3}\[[^\]]{1,40}\]|\$_(POST|GET|REQUEST)\s{0,3}\[[^\]]{1,40}\])\s{0,5}\)/ nocase
        $checked = /wp_verify_nonce|current_user_can|check_admin_referer|wp_handle_upload|namespace\s|\bclass\s/ nocase
    condition:
        filesize < 64KB and $gate and $direct and not $checked
}

rule php_write_request
{
    meta:
        score = 100
        description = "The request chooses a file and writes it"
    strings:
        $named = /(file_put_contents|fopen)\s{0,5}\(\s{0,5}(@|base64_decode\s{0,3}\(|trim\s{0,3}\(|[a-z_]{0,20}\.\s{0,3}){0,2}\$_(GET|POST|REQUEST|COOKIE)\s{0,3}\[/ nocase
        $decoded = /(file_put_contents|fwrite|fputs)\s{0,5}\([^;\n]{0,120}(base64_decode|stripslashes|urldecode|hex2bin|gzinflate)\s{0,5}\(\s{0,5}@?\$_(POST|GET|REQUEST|COOKIE)/ nocase
        $script = /(file_put_contents|fopen)\s{0,5}\([^;,\n]{0,120}\.(php|phtml|phar|php[3-8])["'][^;\n]{0,60}\$_(GET|POST|REQUEST|COOKIE)/ nocase
        $opened = /fopen\s{0,5}\([^;,\n]{0,120}\.(php|phtml|phar)["']\s{0,3},[^;\n]{0,20};\s{0,20}(fwrite|fputs)\s{0,5}\([^;\n]{0,60}\$_(GET|POST|REQUEST|COOKIE)/ nocase
    condition:
        filesize < 512KB and any of them
}

rule php_dropper
{
    meta:
        score = 100
        description = "A script is written from hidden or downloaded content"
    strings:
        $hidden = /(file_put_contents|fwrite|fputs)\s{0,5}\(\s{0,5}[^,;]{0,160}\.(php|phtml|php[3-8]|phar|htaccess|ini)["'][^;,]{0,40},\s{0,5}[^;]{0,60}(base64_decode|gzinflate|gzuncompress|str_rot13|hex2bin|(file_get_contents|curl_exec)\s{0,5}\(\s{0,5}["']https?:\/\/)/ nocase
        $code = /(file_put_contents|fwrite|fputs)\s{0,5}\(\s{0,5}[^,;]{0,160},\s{0,5}["']<\?(php)?[^;]{0,200}(eval|assert|system|shell_exec|passthru)\s{0,5}\(/ nocase
        $copied = /(^|[^a-z0-9_>:$"'])copy\s{0,5}\(\s{0,5}["']https?:\/\/[^"'\n]{1,300}["']\s{0,5},[^;\n]{0,120}\.(php|phtml|phar|php[3-8])["']/ nocase
        $renamed = /file_get_contents\s{0,5}\(\s{0,5}["']https?:\/\/[^"'\n]{1,300}["'][^;]{0,40};[^{}]{0,200}(file_put_contents|fwrite|fputs)\s{0,5}\([^;\n]{0,160}\.(php|phtml|phar|php[3-8])["']/ nocase
        $tool = /(system|exec|shell_exec|passthru|popen)\s{0,5}\(\s{0,5}["'][^"'\n]{0,80}(wget|curl|lwp-download|fetch)\s[^"'\n]{0,200}https?:\/\// nocase
        $touched = /touch\s{0,5}\([^;\n]{0,80}(filemtime|fileatime|strtotime)\s{0,5}\([^;\n]{0,80};/ nocase
        $self = /(copy|file_put_contents|rename)\s{0,5}\(\s{0,5}__FILE__\s{0,5},[^;\n]{0,120}\.php/ nocase
        $all = /foreach\s{0,5}\([^{}]{0,120}(scandir|glob|RecursiveDirectoryIterator)[^{}]{0,200}\{[^{}]{0,400}(file_put_contents|copy)\s{0,5}\([^;]{0,160}(__FILE__|base64_decode|\$payload|\$code|\$shell)/ nocase
    condition:
        $hidden or $code or $copied or $renamed or $tool or $self or $all or ($touched and php_eval_decoded)
}

rule php_known_shell
{
    meta:
        score = 100
        description = "The name of a known web shell"
    strings:
        $a = "FilesMan" nocase
        $b = "c99shell" nocase
        $c = "r57shell" nocase
        $d = "b374k" nocase
        $e = "IndoXploit" nocase
        $f = "AnonymousFox" nocase
        $g = "0byt3m1n1" nocase
        $h = "Leaf PHPMailer" nocase
        $i = "alfashell" nocase
        $j = /\bWSO\s{0,2}[0-9]\.[0-9]/
        $k = "Mini Shell" nocase
        $l = "weevely" nocase
        $m = "MARIJUANA" fullword
        $n = /p0wny@?shell/ nocase
        $o = "Tiny File Shell" nocase
        $p = /(hacked|defaced|owned)\s{1,3}by\s{1,3}[a-z0-9_.-]{2,30}/ nocase
        $php = "<?"
        $use = /\$_(GET|POST|REQUEST|COOKIE|FILES)\b/
        $run = /(^|[^a-z0-9_>:$])(eval|assert|system|exec|shell_exec|passthru|popen|proc_open|move_uploaded_file|file_put_contents|unlink|chmod)\s{0,5}\(/ nocase
    condition:
        $php and 1 of ($a, $b, $c, $d, $e, $f, $g, $h, $i, $j, $k, $l, $m, $n, $o, $p) and $use and $run
}

rule php_file_manager
{
    meta:
        score = 100
        description = "A page with which anybody manages files and executes commands"
    strings:
        $use = /\$_(GET|POST|REQUEST)\s{0,3}\[/
        $run = /(^|[^a-z0-9_>:$])(system|exec|shell_exec|passthru|popen|proc_open)\s{0,5}\(/ nocase
        $a = /(^|[^a-z0-9_>:$])chmod\s{0,5}\(/ nocase
        $b = /(^|[^a-z0-9_>:$])unlink\s{0,5}\(/ nocase
        $c = /(^|[^a-z0-9_>:$])rename\s{0,5}\(/ nocase
        $d = "disable_functions" nocase
        $e = /(^|[^a-z0-9_>:$])getcwd\s{0,5}\(/ nocase
        $f = /php_uname\s{0,5}\(/ nocase
        $g = /posix_getpwuid|posix_geteuid|get_current_user/ nocase
        $h = /disk_(free|total)_space/ nocase
        $i = "safe_mode" nocase
        $j = /(scandir|opendir|glob)\s{0,5}\(\s{0,5}\$/ nocase
        $form = /<(form|textarea)\b/ nocase
        $ordinary = /namespace\s{1,3}[A-Za-z]|current_user_can|wp_verify_nonce|\bextends\s/
    condition:
        $use and $form and not $ordinary and (($run and 4 of ($a, $b, $c, $d, $e, $f, $g, $h, $i, $j)) or 6 of ($a, $b, $c, $d, $e, $f, $g, $h, $i, $j))
}

rule php_hidden_names
{
    meta:
        score = 100
        description = "Names of variables and functions are written with escapes"
    strings:
        $globals = /\$\{\s{0,3}"(\\x[0-9a-f]{2}|\\[0-7]{2,3}){3,}/ nocase
        $array = /\$GLOBALS\s{0,3}[\[{]\s{0,3}["'](\\x[0-9a-f]{2}|\\[0-7]{2,3}){3,}/ nocase
        $call = /["'](\\x[0-9a-f]{2}|\\[0-7]{2,3}){4,}["']\s{0,3}\(/ nocase
    condition:
        any of them
}

rule php_goto_maze
{
    meta:
        score = 100
        description = "The order of the code is hidden with jumps"
    strings:
        $goto = /goto\s{1,3}[A-Za-z_0-9]{4,12};\s{0,5}[A-Za-z_0-9]{4,12}:/
        $active = /(eval|assert|base64_decode|file_get_contents|curl_init|curl_exec|\$_(GET|POST|REQUEST|COOKIE|SERVER)|include|require|system|shell_exec)\b/ nocase
    condition:
        #goto > 7 and $active
}

rule php_mass_mailer
{
    meta:
        score = 100
        description = "A page that sends mail to a list"
    strings:
        $list = /\$_(POST|REQUEST)\s{0,3}\[\s{0,3}["'](emails?|emaillist|maillist|mail_list|listmail|recipients|leads|to_list|list)["']\s{0,3}\]/ nocase
        $split = /(explode|preg_split)\s{0,5}\(/ nocase
        $mail = /(^|[^a-z0-9_>:$])@?mail\s{0,5}\(\s{0,5}\$/ nocase
        $loop = /(foreach|for|while)\s{0,5}\(/ nocase
        $ordinary = /wp_verify_nonce|current_user_can|namespace\s|\bclass\s/ nocase
    condition:
        $list and $split and $mail and $loop and not $ordinary
}

rule php_stolen_form
{
    meta:
        score = 100
        description = "What visitors type into a form is sent to a mailbox or a chat"
    strings:
        $secret = /\$_(POST|REQUEST)\s{0,3}\[\s{0,3}["'][a-z_0-9-]{0,20}(passw|passwd|pwd|cvv|cvc|cardnum|card_num|ccnum|cc_num|ssn|otp|pin|exp_?date)[a-z_0-9-]{0,20}["']/ nocase
        $mailbox = /["'][a-z0-9._+-]{2,40}@(gmail|yandex|protonmail|proton|outlook|hotmail|yahoo|mail|tutanota)\.[a-z]{2,4}["']/ nocase
        $mail = /(^|[^a-z0-9_>:$])@?mail\s{0,5}\(/ nocase
        $telegram = /api\.telegram\.org\/bot/ nocase
        $discord = /discord(app)?\.com\/api\/webhooks\// nocase
        $ordinary = /wp_verify_nonce|current_user_can|namespace\s/ nocase
    condition:
        $secret and not $ordinary and (($mailbox and $mail) or $telegram or $discord)
}

rule php_hidden_administrator
{
    meta:
        score = 100
        description = "The request makes or becomes an administrator"
    strings:
        $made = /wp_create_user\s{0,5}\(\s{0,5}["'][^"'\n]{1,60}["']\s{0,5},\s{0,5}["']/ nocase
        $inserted = /["']user_pass["']\s{0,5}=>\s{0,5}["'][^"'\n]{4,80}["']/ nocase
        $role = /["']administrator["']/ nocase
        $request = /\$_(GET|POST|REQUEST|COOKIE|SERVER)\s{0,3}\[/
        $cookie = /wp_set_auth_cookie\s{0,5}\(/ nocase
        $secret = /(md5|sha1|hash)\s{0,5}\([^;)]{0,40}\$_(GET|POST|REQUEST|COOKIE)[^;)]{0,60}\)\s{0,5}={2,3}\s{0,5}["'][0-9a-f]{32,64}["']/ nocase
        $plain = /\$_(GET|REQUEST|COOKIE)\s{0,3}\[[^\]\n]{1,40}\]\s{0,5}={2,3}\s{0,5}["'][^"'\n]{3,80}["']/ nocase
        $first = /(get_users|get_user_by|WP_User|wp_set_current_user)\s{0,5}\([^;\n]{0,100}(administrator|["']id["']\s{0,3},\s{0,3}1|\(\s{0,3}1\s{0,3}\))/ nocase
        $hide = /(pre_user_query|views_users)["'][^;\n]{0,120}/ nocase
        $ordinary = /wp_verify_nonce|check_admin_referer|hash_equals/
    condition:
        not $ordinary and (
            (($made or $inserted) and $role and ($request or $hide))
            or ($cookie and ($secret or ($plain and $first)))
        )
}

rule php_gated_by_hash
{
    meta:
        score = 60
        description = "A password is compared with a constant hash"
    strings:
        $secret = /(md5|sha1)\s{0,5}\(\s{0,5}(md5\s{0,3}\(\s{0,3})?\$_(GET|POST|REQUEST|COOKIE)[^;)]{0,60}\)\)?\s{0,5}[!=]={1,2}\s{0,5}["'][0-9a-f]{32,40}["']/ nocase
        $reversed = /["'][0-9a-f]{32,40}["']\s{0,5}[!=]={1,2}\s{0,5}(md5|sha1)\s{0,5}\(\s{0,5}\$_(GET|POST|REQUEST|COOKIE)/ nocase
    condition:
        any of them
}

rule php_gated_action
{
    meta:
        score = 60
        description = "Code or commands are executed for whoever knows a password"
    strings:
        $secret = /(md5|sha1)\s{0,5}\(\s{0,5}(md5\s{0,3}\(\s{0,3})?\$_(GET|POST|REQUEST|COOKIE)/ nocase
        $run = /(^|[^a-z0-9_>:$])(eval|assert|system|shell_exec|passthru|popen|proc_open|move_uploaded_file|file_put_contents|create_function)\s{0,5}\(/ nocase
        $ordinary = /namespace\s{1,3}[A-Za-z]|current_user_can/
    condition:
        $secret and $run and not $ordinary
}

rule php_cloaking
{
    meta:
        score = 100
        description = "Search engines get other pages than visitors"
    strings:
        $agent = /HTTP_USER_AGENT|HTTP_REFERER/
        $bots = /(googlebot|bingbot|slurp|baiduspider|yandexbot|google\\?\.|bing\\?\.|yahoo\\?\.)/ nocase
        $fetch = /(file_get_contents|curl_init|curl_setopt|fsockopen)\s{0,5}\([^;\n]{0,120}https?:\/\// nocase
        $end = /(echo|print|exit|die)[\s(]/ nocase
        $redirect = /header\s{0,5}\(\s{0,5}["']Location:\s{0,3}https?:\/\// nocase
        $spam = /viagra|cialis|levitra|casino|slot\s?gacor|judi\s?online|togel|replica\s?watch|payday|louis\s?vuitton/ nocase
        $ordinary = /namespace\s{1,3}[A-Za-z]|current_user_can|\bclass\s/
    condition:
        $agent and $bots and not $ordinary and (($fetch and $end) or ($redirect and $bots) or ($spam and $end))
}

rule php_self_removal
{
    meta:
        score = 60
        description = "A script that removes itself"
    strings:
        $unlink = /unlink\s{0,5}\(\s{0,5}(__FILE__|\$_SERVER\s{0,3}\[\s{0,3}["']SCRIPT_FILENAME)/ nocase
    condition:
        $unlink
}

rule php_silent_worker
{
    meta:
        score = 60
        description = "A script that hides its errors, ignores the end of its visitor and runs without end"
    strings:
        $errors = /error_reporting\s{0,5}\(\s{0,5}0\s{0,5}\)|@?ini_set\s{0,5}\(\s{0,5}["']display_errors["']\s{0,3},\s{0,3}(0|["'](0|off)["']|false)/ nocase
        $time = /set_time_limit\s{0,5}\(\s{0,5}0\s{0,5}\)/ nocase
        $abort = /ignore_user_abort\s{0,5}\(\s{0,5}(true|1)/ nocase
        $loop = /while\s{0,5}\(\s{0,5}(true|1|!\s{0,2}0)\s{0,5}\)/ nocase
        $write = /(file_put_contents|fwrite|copy|chmod)\s{0,5}\(/ nocase
        $ordinary = /namespace\s{1,3}[A-Za-z]|\bclass\s|current_user_can/
    condition:
        $abort and $time and $loop and $write and ($errors or $time) and not $ordinary and filesize < 64KB
}

rule php_persistent_copy
{
    meta:
        score = 60
        description = "A script that writes a file again whenever it is removed or changed"
    strings:
        $missing = /(!\s{0,2}(@?file_exists|@?is_file)\s{0,3}\(|md5_file\s{0,3}\([^)]{1,80}\)\s{0,3}!==?|filesize\s{0,3}\([^)]{1,80}\)\s{0,3}!==?)/ nocase
        $write = /(file_put_contents|copy)\s{0,5}\([^;\n]{0,160}(base64_decode|\$[a-z_0-9]{1,20})/ nocase
        $loop = /while\s{0,5}\(\s{0,5}(true|1|!\s{0,2}0)\s{0,5}\)/ nocase
        $mode = /chmod\s{0,5}\([^;\n]{0,80}0?444/ nocase
    condition:
        $missing and $write and $loop and $mode
}
