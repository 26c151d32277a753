#!/usr/bin/python3
"""Renders the manual, Public/docs/*.md, to HTML pages and a search index beside the sources.

The pages are checked in, so that `swift build` needs no renderer. Each page holds the SHA-256 of its
source; a test compares them. `manual.py --check` changes nothing and fails if a page is out of date.
Needs Debian's python3-markdown-it, of any version from 2.1 on.
"""

import hashlib
import html
import json
import pathlib
import re
import sys

try:
    from markdown_it import MarkdownIt
except ImportError:
    sys.exit("manual.py: install python3-markdown-it, or: pip install markdown-it-py")

DOCS = pathlib.Path(__file__).resolve().parent.parent / "Public/docs"

PAGE = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <meta name="source-sha256" content="{digest}">
  <title>{title} · LiveFetch manual</title>
  <link rel="icon" href="/icon.svg" type="image/svg+xml">
  <link rel="stylesheet" href="/docs/manual.css">
  <script src="/docs/manual.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header>
  <a class="home" href="/docs/">LiveFetch manual</a>
  <search>
    <input id="query" type="search" placeholder="Search (press /)" aria-label="Search the manual"
      autocomplete="off" spellcheck="false" aria-controls="results">
    <ol id="results" hidden></ol>
  </search>
  <a href="/">Explorer</a>
</header>
<nav class="pages" aria-label="Pages"><details><summary>Pages</summary>
<ul>
{pages}
</ul></details></nav>
<main id="content">
{contents}{body}
<nav class="steps" aria-label="Neighbouring pages">{steps}</nav>
<footer><a href="/docs/{name}.md">This page as Markdown</a> · <a href="/openapi.json">OpenAPI</a> ·
<a href="/model-schema.json">JSON Schema of models</a></footer>
</main>
</body>
</html>
"""


def anchor(heading):
    """Returns the name that links use for a heading, as GitHub and the tests derive it."""
    kept = (c for c in heading.lower() if c.isalpha() or c.isnumeric() or c in " -")
    return "".join(kept).replace(" ", "-")


def address(target):
    """Returns the served address of a link's target in a source."""
    page = re.fullmatch(r"([\w-]+)\.md(#.*)?", target)
    if page:
        name = "" if page[1] == "index" else page[1] + ".html"
        return f"/docs/{name}{page[2] or ''}"
    return target.replace("../", "/", 1) if target.startswith("../") else target


def text_of(inline):
    return "".join(
        " " if t.type in ("softbreak", "hardbreak") else t.content for t in inline.children)


def prepare(tokens):
    """Rewrites links, gives headings anchors; returns the sections [anchor, heading, text]."""
    sections = []
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            heading = text_of(tokens[index + 1])
            token.attrSet("id", anchor(heading))
            sections.append([anchor(heading), heading, "", token.tag])
        elif token.type == "inline":
            for child in token.children:
                if child.type == "link_open":
                    child.attrSet("href", address(child.attrGet("href")))
            if sections and tokens[index - 1].type != "heading_open":
                sections[-1][2] += text_of(token) + " "
        elif token.type == "fence" and sections:
            sections[-1][2] += token.content + " "
    return sections


def label_cells(tokens):
    """Gives each cell of a table with more than two columns the head of its column: phones show it."""
    for index, token in enumerate(tokens):
        if token.type == "table_open":
            table, heads = token, []
        elif token.type == "th_open":
            heads.append(text_of(tokens[index + 1]))
        elif token.type == "thead_close" and len(heads) > 2:
            table.attrSet("class", "many")
        elif token.type == "tr_open":
            column = 0
        elif token.type == "td_open":
            if len(heads) > 2 and column > 0 and heads[column]:
                token.attrSet("data-head", heads[column])
            column += 1


def link_codes(tokens, sections):
    """Makes each code in a table of codes and meanings a link to itself; adds its row to the sections."""
    counts = {section[0]: 1 for section in sections}
    for index, token in enumerate(tokens):
        if token.type == "thead_open":
            heads, cells = [], []
        elif token.type == "th_open":
            heads.append(text_of(tokens[index + 1]))
        elif token.type == "td_open":
            cells.append(tokens[index + 1])
        elif token.type == "tr_close" and {"code", "meaning"} <= {*heads} and cells:
            row = dict(zip(heads, cells))
            text = " ".join(text_of(cell) for cell in cells)
            for code in [t for t in row["code"].children if t.type == "code_inline"]:
                name = f"{text_of(row['status'])} {code.content}" if "status" in row else code.content
                count = counts[code.content] = counts.get(code.content, 0) + 1
                place = code.content if count == 1 else f"{code.content}-{count}"
                sections.append([place, name, text, "tr"])
                code.attrSet("id", place)
            cells = []


def render_body(parser, tokens):
    body = parser.renderer.render(tokens, parser.options, {})
    body = re.sub(
        r'<h([234]) id="([^"]*)">(.*?)</h\1>',
        r'<h\1 id="\2">\3 <a class="anchor" href="#\2" aria-label="Link to this section">#</a></h\1>',
        body)
    # Browsers break a line after a hyphen.
    body = re.sub(r"<code>(--?[\w-]+)</code>", r'<code class="option">\1</code>', body)
    body = re.sub(
        r'<code id="([^"]*)">(.*?)</code>', r'<a class="code" id="\1" href="#\1"><code>\2</code></a>', body)
    # Wide tables and blocks scroll by themselves; the keyboard reaches them.
    body = body.replace("<table", '<div class="wide" tabindex="0"><table')
    return body.replace("</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">')


def list_of_contents(sections):
    entries = [s for s in sections if s[3] == "h2"]
    if len(entries) < 3:
        return ""
    items = "".join(f'<li><a href="#{s[0]}">{html.escape(s[1])}</a></li>' for s in entries)
    return f'<details class="contents"><summary>On this page</summary><ul>{items}</ul></details>\n'


def link(name, title, attributes=""):
    path = "" if name == "index" else name + ".html"
    return f'<a href="/docs/{path}"{attributes}>{html.escape(title)}</a>'


def navigation(current, order):
    entries = (
        "<li>" + link(n, t, ' aria-current="page"' if n == current else "") + "</li>"
        for n, t in order)
    return "\n".join(entries)


def steps(current, order):
    place = [name for name, _ in order].index(current)
    parts = []
    if place > 0:
        parts.append(link(*order[place - 1], ' rel="prev"'))
    if place + 1 < len(order):
        parts.append(link(*order[place + 1], ' rel="next"'))
    return " ".join(parts)


def render():
    """Returns the contents of every generated file by its name."""
    index = (DOCS / "index.md").read_text()
    order = [("index", "Contents")] + [
        (n, t) for t, n in re.findall(r"^\| \[([^\]]+)\]\(([\w-]+)\.md\)", index, re.M)]
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    files, entries = {}, []
    for name, title in order:
        source = (DOCS / f"{name}.md").read_bytes()
        tokens = parser.parse(source.decode())
        sections = prepare(tokens)
        label_cells(tokens)
        link_codes(tokens, sections)
        entries += [[name, title, s[0], "" if s[3] == "h1" else s[1], " ".join(s[2].split())]
                    for s in sections]
        files[f"{name}.html"] = PAGE.format(
            digest=hashlib.sha256(source).hexdigest(), title=html.escape(title), name=name,
            pages=navigation(name, order), contents=list_of_contents(sections),
            body=render_body(parser, tokens), steps=steps(name, order))
    lines = ",\n".join(json.dumps(e, ensure_ascii=False) for e in entries)
    files["search.json"] = f"[{lines}]\n"
    return files


def main():
    files = render()
    stale = [n for n, text in files.items()
             if not (DOCS / n).exists() or (DOCS / n).read_text() != text]
    surplus = [f.name for f in DOCS.glob("*.html") if f.name not in files]
    if "--check" in sys.argv[1:]:
        if stale or surplus:
            sys.exit(f"out of date, run make docs: {' '.join(stale + surplus)}")
        return
    for name in surplus:
        (DOCS / name).unlink()
    for name in stale:
        (DOCS / name).write_text(files[name])
    print(f"manual: {len(files)} files in Public/docs, {len(stale)} changed")


if __name__ == "__main__":
    main()
