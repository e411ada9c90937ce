"""The page of a site before its first deployment. It loads no other files."""

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Ready for its first deployment</title>
<style>
  :root { color-scheme: light dark; }
  body { display: grid; place-items: center; min-height: 100vh; margin: 0;
         font: 1.1rem/1.6 system-ui, sans-serif; background: light-dark(#f7f5f0, #1d1f21);
         color: light-dark(#2b2b2b, #e6e3dc); }
  main { max-width: 34rem; padding: 2rem; }
  h1 { font-size: 1.6rem; font-weight: 600; margin: 0 0 .5rem; }
  p { margin: 0; opacity: .8; }
</style>
<main>
  <h1><span id="host">This site</span> is ready for its first deployment.</h1>
  <p>Its address works and its files will appear here as soon as something is deployed.</p>
</main>
<script>document.getElementById("host").textContent = document.title = location.hostname;</script>
</html>
"""
