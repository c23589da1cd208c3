#!/usr/bin/env bash
# Opens reports in headless Chromium and looks for what a reader would stumble over: errors in the console (also of the
# page's Content-Security-Policy), broken words and columns behind a scroll bar at 1,300, 800 and 400
# pixels, a filter of the items that does not
# filter, a page that cannot be printed; and whether a foreign script or style in the page is refused.
#   bash tests/report/browser.sh REPORT.html…            check
#   SHOTS=folder bash tests/report/browser.sh REPORT.html…   and keep screenshots (light, dark, 1,300 and 500 px) and a PDF
# Exit codes: 0 nothing found, 1 something, 77 skipped (no Chromium on this host).
set -euo pipefail

if [ $# -eq 0 ]; then
  echo "browser.sh: give at least one report.html" >&2
  exit 64
fi
browser=
for name in ${CHROMIUM:-} chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null; then browser=$name && break; fi
done
if [ -z "$browser" ]; then
  echo "skipped: no chromium on this host (apt-get install chromium, or set CHROMIUM)"
  exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run() {  # its messages go to $work/log
  timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu --user-data-dir="$work/profile" \
    --disable-background-networking --disable-component-update --disable-sync --enable-logging=stderr "$@" 2>>"$work/log"
}

# Added to a copy of the page: measures, tries the filter, and leaves what it found in the document's title.
cat >"$work/probe.js" <<'PROBE'
addEventListener('load', () => {
  const problems = [];
  const say = text => problems.push(text);
  for (const details of document.querySelectorAll('details')) details.open = true;
  const page = document.documentElement;
  if (page.scrollWidth > innerWidth) say('the page is ' + page.scrollWidth + ' px wide');
  for (const box of document.querySelectorAll('.scroll'))
    if (box.scrollWidth > box.clientWidth)
      say('a table hides columns: ' + box.scrollWidth + ' px in ' + box.clientWidth + ': ' +
          box.textContent.trim().slice(0, 60).replaceAll('\n', ' '));
  // A word of a table that stands on two lines. Where a long one may break, its text ends; digests may break anywhere.
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let words = 0;
  const broken = [];
  while (texts.nextNode()) {
    const cell = texts.currentNode.parentElement.closest('td,th');
    if (cell?.closest('thead')?.getBoundingClientRect().width <= 1) continue;  // of cards
    if (!cell || texts.currentNode.parentElement.closest('.d,pre,svg')) continue;
    for (const word of texts.currentNode.data.matchAll(/[^\s\u2e80-\u9fff\uff00-\uffef]+/g)) {
      const range = new Range();
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].filter(r => r.width > 0).map(r => Math.round(r.top)));
      words++;
      if (lines.size > 1) broken.push(word[0]);
    }
  }
  if (broken.length) say(broken.length + ' of ' + words + ' words are broken: ' + broken.slice(0, 5).join(', '));
  for (const cell of document.querySelectorAll('td,th'))
    if (cell.clientWidth > 1 && cell.scrollWidth > cell.clientWidth + 1) say('a cell runs over: ' + cell.textContent.slice(0, 40));
  for (const head of document.querySelectorAll('th')) if (!head.scope) say('th without scope: ' + head.textContent);
  for (const title of document.querySelectorAll('svg title'))
    if (/gnuplot/i.test(title.textContent)) say('a plot is titled ' + title.textContent);
  for (const one of document.querySelectorAll('[src],link[href]'))
    if (!/^data:/.test(one.src || one.href)) say('fetches ' + (one.src || one.href));
  const seen = new Set();
  for (const one of document.querySelectorAll('[id]')) {
    if (seen.has(one.id)) say('id twice: ' + one.id);
    seen.add(one.id);
  }
  for (const link of document.querySelectorAll('nav a'))
    if (!document.getElementById(link.hash.slice(1))) say('dead link ' + link.hash);
  const items = document.getElementById('items-table');
  if (items) {
    const data = JSON.parse(document.getElementById('items-data').textContent);
    const rows = () => items.querySelectorAll('tbody tr').length;
    const search = items.querySelector('input[type=search]');
    if (!search) say('the items have no search');
    else {
      const all = rows();
      search.value = data.flips[0].i;
      search.dispatchEvent(new Event('input'));
      if (rows() < 1 || rows() > all) say('search for an item finds ' + rows());
      items.querySelector('tbody button').click();
      if (!items.querySelector('tr.open')) say('an item does not open');
      const withText = data.flips.find(f => f.x !== undefined && data.texts[f.x].q);
      if (withText) {
        search.value = data.texts[withText.x].q.split('\n')[0].slice(0, 40).trim();
        search.dispatchEvent(new Event('input'));
        if (rows() < 1) say('search for a question finds nothing');
        items.querySelector('tbody button').click();
        const opened = items.querySelector('tr.open');
        if (!opened || !opened.textContent.includes(search.value)) say('an open item does not show its question');
      }
      for (const select of items.querySelectorAll('select')) {
        search.value = '';
        select.selectedIndex = 1;
        select.dispatchEvent(new Event('change'));
        if (rows() < 1 || rows() > all) say('a filter finds ' + rows());
        select.selectedIndex = 0;
        select.dispatchEvent(new Event('change'));
      }
      search.value = 'nothing is called so';
      search.dispatchEvent(new Event('input'));
      if (rows() !== 0) say('search for nothing finds ' + rows());
      search.value = '';
      search.dispatchEvent(new Event('input'));
      if (rows() !== all) say('an empty search does not show all');
    }
  }
  top.document.title = 'PROBE ' + (problems.length ? problems.join(' ;; ') : 'OK');
});
PROBE
# The copy's policy allows the probe as well, by its hash.
probe_hash=$(python3 -c 'import base64, hashlib, sys
print("sha256-" + base64.b64encode(hashlib.sha256(open(sys.argv[1], "rb").read()).digest()).decode())' "$work/probe.js")
# What a policy with hashes refuses: each turns the title to FOREIGN or the heading to 7 pixels.
foreign='<script>document.title = "FOREIGN"</script><img src="data:," onerror="document.title = &quot;FOREIGN&quot;">
<style>h1 { font-size: 7px !important }</style>'

failed=0
complain() {
  echo "FAILED $1: $2"
  failed=1
}
for report in "$@"; do
  name=$(basename "$(dirname "$report")")
  {
    sed "0,/script-src/s|script-src \\('none'\\)\\?|script-src '$probe_hash' |" "$report"
    printf '<script>%s</script>\n' "$(cat "$work/probe.js")"$'\n'
  } >"$work/page.html"
  for width in 1300 800 400; do
    # In a frame: no window of Chromium is narrower than 500 pixels.
    python3 -c 'import html, sys
page = html.escape(open(sys.argv[1], encoding="utf-8").read())
print(f"""<!DOCTYPE html><body><iframe width={sys.argv[2]} height=1200 style="border:0" srcdoc="{page}"></iframe>""")
' "$work/page.html" "$width" >"$work/framed.html"
    # Once more where something is found: on a busy host Chromium has hashed half of an inline style.
    for _ in 1 2; do
      : >"$work/log"
      run --window-size=1400,1200 --virtual-time-budget=20000 --dump-dom "file://$work/framed.html" >"$work/dom" || true
      found=$(grep -o '<title>PROBE [^<]*' "$work/dom" | head -1 | cut -c8- || true)
      said=$(grep CONSOLE "$work/log" | head -3 || true)
      if [ "$found" = "PROBE OK" ] && [ -z "$said" ]; then break; fi
    done
    [ "$found" = "PROBE OK" ] || complain "$report at $width px" "${found:-the page did not load}"
    [ -z "$said" ] || complain "$report at $width px" "console: $said"
  done
  : >"$work/log"
  { cat "$report" && printf '%s\n' "$foreign"; } >"$work/foreign.html"
  run --virtual-time-budget=5000 --dump-dom "file://$work/foreign.html" >"$work/dom" || true
  if grep -q '<title>FOREIGN' "$work/dom"; then complain "$report" "runs a foreign script"; fi
  refused=$(grep CONSOLE "$work/log" | grep -c 'Content Security Policy' || true)
  [ "$refused" -eq 3 ] || complain "$report" "refuses $refused of 3 foreign scripts and styles"
  : >"$work/log"
  run --no-pdf-header-footer --print-to-pdf="$work/print.pdf" "file://$(realpath "$report")" || true
  head -c 5 "$work/print.pdf" 2>/dev/null | grep -q '%PDF-' || complain "$report" "does not print"
  if grep -q CONSOLE "$work/log"; then complain "$report printed" "console: $(grep CONSOLE "$work/log" | head -3)"; fi
  size=$(stat -c %s "$report")
  [ "$size" -lt 2000000 ] || complain "$report" "has $size bytes, more than 2 MB"
  if [ -n "${SHOTS:-}" ]; then
    mkdir -p "$SHOTS"
    cp "$work/print.pdf" "$SHOTS/$name.pdf"
    for width in 1300 800 500; do
      for mode in light dark; do
        dark=()
        [ "$mode" = light ] || dark=(--blink-settings=preferredColorScheme=0)
        run --hide-scrollbars --window-size="$width,3000" "${dark[@]}" --screenshot="$SHOTS/${name}_${width}_$mode.png" \
          "file://$(realpath "$report")" || true
      done
    done
  fi
  [ "$failed" -ne 0 ] || echo "ok $report ($size bytes)"
done
exit "$failed"
