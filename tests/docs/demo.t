#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make demo, with four tokens: chip and RTL write the same, a layer has 0 differences, the table has five formats. Its page
# is well formed, reaches nothing outside, and fits a window of 1280 and one of 390 pixels in a browser.
. "$(dirname "$0")/../cli/lib.sh"

daily "make demo" || finish
python3 python/demo.py "$SQSIM" "$W/demo" rtl tokens=4 >"$W.out" 2>"$W.err"
RC=$?
ok "the demo ends well" accepted
ok "it writes text" out_has '^The litt$'
ok "the RTL writes the same in the same cycles" out_has 'text, cycles and logits of all 4 tokens are the same'
ok "0 differences" out_has 'cycles compared: 0 differences'
ok "five formats" [ "$(grep -cE '^[a-z0-9_]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ to [0-9.]+ +[0-9.]+$' "$W.out")" = 5 ]
page=$W/demo/index.html
ok "the page: every element is closed" python3 -c 'import html.parser, sys
class P(html.parser.HTMLParser):
    stack, least = [], 0
    def handle_starttag(self, tag, a): self.stack += [] if tag in ("meta", "br") else [tag]
    def handle_endtag(self, tag): assert self.stack.pop() == tag, (tag, self.getpos())
p = P(); p.feed(open(sys.argv[1], encoding="utf-8").read()); assert not p.stack, p.stack' "$page"
ok "no scripts, nothing from elsewhere" [ -z "$(grep -oE '<script|https?:|src=|url\(|@import' "$page")" ]
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -n "$browser" ]; then
  for width in 1280 390; do
    cat >"$W/demo/frame.html" <<END
<iframe src="index.html" width="$width" height="2000" onload="
  const d = this.contentDocument.documentElement, b = d.getElementsByTagName('svg')[0].getBoundingClientRect();
  document.title = [d.scrollWidth <= $width, b.width > 0.8 * Math.min($width, 960), d.getElementsByTagName('tr').length].join()"></iframe>
END
    (cd "$W" && HOME=$W timeout $HANG "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
      --user-data-dir="$W/profile" --allow-file-access-from-files --virtual-time-budget=20000 --dump-dom \
      "file://$W/demo/frame.html" >"$W.out" 2>"$W.err")
    ok "a browser of $width pixels: nothing sticks out, bar and table are there" out_has '<title>true,true,6</title>'
  done
else
  skip "the page in a browser" "no chromium"
fi
finish
