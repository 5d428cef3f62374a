"""The ledger as a static site: any file host, a folder, no server, no third-party request.

    DIR/index.html, latest.json     the pointers, replaced last and each by one rename
    DIR/v/<stamp>/                  one published version, whole: manifest.json, en/, vi/, data/, assets/

The table is a plain semantic <table> with a script of our own, not a grid library: the rows of 30,000 offers are some
400 KB as dictionary-encoded columns, a screen reader meets a table and not a heap of <div>, the keyboard is the
browser's, and no line of somebody else's code runs on the page. Rows come in pages, for a windowed table has rows that
neither a screen reader nor the browser's search finds.

Data comes as a classic <script>: a page that is opened from a folder may not fetch(). A Content-Security-Policy forbids
everything but the site's own files. Texts of providers become text nodes, their control characters written out, and
never markup. Charts are SVG written here: a step chart with dashed and open parts is a hundred lines, follows the
reader's light or dark colours, and needs no renderer of 100 MB.
"""
