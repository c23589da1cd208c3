#include "report/html.hpp"

namespace nb {

// Filter, search and open for the items. Every text enters as textContent, never as markup.
std::string_view html_script() {
  return R"js(
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('items-data').textContent);
  const words = data.words, groups = data.groups, flips = data.flips, texts = data.texts;
  const page = 50;
  let shown = page;

  const make = (tag, text, className) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  // A cell whose words are not broken, as html_table.cpp makes it.
  const cell = (text, className) => {
    const td = make('td', undefined, className);
    for (const word of (text ?? '').split(' ')) {
      if (td.firstChild) td.append(' ');
      if (word.length <= 28)
        td.append(/[-\/?!%|]/.test(word) ? make('span', word, 'w') : word);
      else
        for (const piece of word.split(/(?<=[-\/_:=,.&])/)) td.append(piece, make('wbr'));
    }
    return td;
  };
  const stage = g => g.a === g.b ? g.a : g.a + ' | ' + g.b;
  const filters = [
    ['sides', f => groups[f.g].sides],
    ['node', f => stage(groups[f.g])],
    ['task', f => groups[f.g].task],
    ['weights', f => groups[f.g].same ? words.same : words.other],
    ['kind', f => words[f.k]],
    ['direction', f => f.lost ? words.lost : words.won],
  ].map(([key, of]) => {
    const select = make('select');
    select.append(new Option(words.all, ''));
    for (const value of [...new Set(flips.map(of))]) select.append(new Option(value, value));
    return {key, of, select};
  });
  const search = make('input');
  search.type = 'search';

  const row = make('div', undefined, 'filters');
  const labelled = (text, control) => {
    const label = make('label', text);
    label.append(control);
    row.append(label);
  };
  labelled(words.search, search);
  for (const one of filters)
    if (one.select.options.length > 2) labelled(words[one.key], one.select);
  const count = make('output');
  row.append(count);

  const columns = ['item', 'node', 'task', 'direction', 'kind', 'gold', 'a', 'b', 'ma', 'mb'];
  const table = make('table', undefined, 'cards wide');
  table.id = document.querySelector('#items-table table').id;
  const head = make('tr');
  for (const key of columns) {
    const cell = make('th', words[key], key === 'ma' || key === 'mb' ? 'n' : '');
    cell.scope = 'col';
    head.append(cell);
  }
  const thead = make('thead'), body = make('tbody');
  thead.append(head);
  table.append(thead, body);
  const more = make('button', words.more);

  const margin = value => value === undefined ? '—' : (value < 0 ? '−' : '+') + Math.abs(value).toFixed(3);
  const textOf = f => texts[f.x] || {};
  const haystack = f => [f.i, f.gold, f.a, f.b, f.ra, f.rb, f.ta, f.tb, groups[f.g].task, groups[f.g].a,
      textOf(f).q, textOf(f).r, ...(textOf(f).c || [])].join('\n').toLowerCase();

  const side = (title, answer, value, reason, logProbs, text) => {
    const box = make('div');
    box.append(make('strong', title + ': ' + answer + (reason ? ' (' + reason + ')' : '')));
    if (value !== undefined) box.append(make('div', words.mark + ': ' + value));
    if (logProbs) box.append(make('div', words.logProbs + ': ' + logProbs.join(', ')));
    if (text) box.append(make('pre', text));
    return box;
  };
  const toggle = (line, f) => {
    const next = line.nextElementSibling;
    if (next && next.className === 'open') return next.remove();
    const opened = make('tr', undefined, 'open'), cell = make('td');
    cell.colSpan = columns.length;
    const g = groups[f.g], sides = make('div', undefined, 'sides');
    cell.append(make('div', stage(g) + ', ' + g.task + ', ' + words.item + ' ' + f.i + ', ' + words.gold + ': ' + f.gold));
    const t = textOf(f);
    if (t.w) cell.append(make('p', t.w, 'warning'));
    if (t.q) cell.append(make('div', words.question + ':'), make('pre', t.q));
    if (t.c) {
      const list = make('ul');
      t.c.forEach((choice, i) => list.append(make('li', /^\S{1,2}: /.test(choice) ? choice : i + ': ' + choice)));
      cell.append(make('div', words.choices + ':'), list);
    }
    if (t.r) cell.append(make('div', words.reference + ':'), make('pre', t.r));
    sides.append(side(words.a, f.a, f.va, f.ra, f.la, f.ta), side(words.b, f.b, f.vb, f.rb, f.lb, f.tb));
    const quote = text => "'" + text.replaceAll("'", "'\\''") + "'";
    cell.append(sides, make('pre', g.show[0] + ' --item ' + quote(f.i) + '\n' + g.show[1] + ' --item ' + quote(f.ib || f.i)));
    opened.append(cell);
    line.after(opened);
  };

  const draw = () => {
    const text = search.value.trim().toLowerCase();
    const found = flips.filter(f => filters.every(one => !one.select.value || one.of(f) === one.select.value) &&
        (!text || haystack(f).includes(text)));
    count.textContent = words.found.replace('{}', found.length);
    body.replaceChildren(...found.slice(0, shown).map(f => {
      const line = make('tr'), name = make('th');
      name.scope = 'row';
      const button = make('button', f.i.length > 12 ? f.i.slice(0, 8) : f.i);
      button.title = words.open;
      button.addEventListener('click', () => toggle(line, f));
      name.append(button);
      if (textOf(f).s) name.append(make('small', textOf(f).s, 'd'));
      line.append(name, cell(stage(groups[f.g])), cell(groups[f.g].task), cell(f.lost ? words.lost : words.won),
          make('td', words[f.k], 'w'), cell(f.gold), cell(f.a), cell(f.b), make('td', margin(f.ma), 'n'),
          make('td', margin(f.mb), 'n'));
      return line;
    }));
    more.hidden = found.length <= shown;
  };
  const changed = () => { shown = page; draw(); };
  search.addEventListener('input', changed);
  for (const one of filters) one.select.addEventListener('change', changed);
  more.addEventListener('click', () => { shown += page; draw(); });
  document.getElementById('items-table').replaceChildren(row, table, more);
  draw();
})();
)js";
}

}  // namespace nb
