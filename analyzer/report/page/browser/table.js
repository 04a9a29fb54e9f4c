// SPDX-License-Identifier: Apache-2.0

// Tables that sort by a click on a title and filter by a word.

import {choiceOf, setChoice} from 'page/address';
import {csvButton, csvText, element} from 'page/element';
import {cellText, integerText, isAbsent, kNone} from 'page/format';

const kRowsAtFirst = 20;

// What the glossary says, as a line.
function glossaryText(id) {
  return document.getElementById(id).nextElementSibling.textContent.replace(/\s+/g, ' ').trim();
}

// The place at which the figure of a column is defined: by the column's key, or by its table and key
// where the key is another figure elsewhere.
const kDefinitions = {
  'bandwidth.bytes': 'message',
  'critical-path_operations.bytes': 'message',
  'iterations_period.bytes': 'message',
  'kinds.bytes': 'message',
  time_median_ns: 'time',
  time_p99_ns: 'time',
  wall_median_ns: 'wall',
  wait_median_ns: 'wait',
  algbw_gb_s: 'algbw',
  busbw_gb_s: 'busbw',
  busbw_p90_gb_s: 'busbw',
  busbw_best_gb_s: 'busbw',
  peak_gb_s: 'peak',
  efficiency_percent: 'peak',
  efficiency_a_percent: 'peak',
  efficiency_b_percent: 'peak',
  times_from: 'times-from',
  on_some_ranks: 'time',
  ranks_inferred: 'busbw',
  'shares.span_ns': 'shares',
  'shares.transfer_ns': 'shares',
  'shares.waiting_ns': 'shares',
  'shares.enqueued_ns': 'shares',
  'shares.outside_ns': 'shares',
  'shares.operations': 'operations',
  'traces.operations': 'operations',
  'runs.operations': 'operations',
  cost_percent: 'cost',
  own_ns: 'own-time',
  own_ratio: 'own-time',
  throughput_gb_s: 'throughput',
  step_median_ns: 'throughput',
  usual_gb_s: 'throughput',
  gpu_wait_percent: 'link-wait',
  peer_wait_percent: 'link-wait',
  transfer_percent: 'link-wait',
  flush_percent: 'link-wait',
  slow_factor: 'slower',
  'iterations_iterations.iteration': 'iteration',
  'iterations_iterations.duration_ns': 'iteration',
  'iterations_iterations.busy_ns': 'communicating',
  'iterations_iterations.wait_ns': 'waiting',
  verdict: 'verdict',
  matched: 'verdict',
  missing: 'verdict',
  'hang_stuck.waited_ns': 'waited',
  'hang_ranks.waited_ns': 'waited',
  'stragglers_ranks.waited_ns': 'wait',
  uncertainty_ns: 'uncertainty',
  most_uncertainty_ns: 'uncertainty',
  offset_ns: 'uncertainty',
  drift_ppb: 'uncertainty',
  dropped: 'dropped',
};

function definitionOf(tableKey, key) {
  return kDefinitions[`${tableKey.replace('one-rank_', '')}.${key}`] || kDefinitions[key];
}

function isNumeric(column) {
  return !['text', 'rank', 'ranks'].includes(column[2]);
}

// Absent values are last in either direction.
function compareCells(a, b, direction) {
  if (isAbsent(a) || isAbsent(b)) return isAbsent(a) - isAbsent(b);
  if (typeof a === 'number' && typeof b === 'number') return direction * (a - b);
  const exact = /^-?\d+$/;
  if (exact.test(a) && exact.test(b)) {
    const [left, right] = [BigInt(a), BigInt(b)];
    return direction * (left < right ? -1 : left > right ? 1 : 0);
  }
  return direction * String(a).localeCompare(String(b), 'en', {numeric: true});
}

function tableHead(key, table, state, sortBy) {
  const cells = table.columns.map((column, index) => {
    const [name, title, , unit] = column;
    const definition = definitionOf(key, name);
    const head = element(
        'th',
        // Browsers paint no button where a printed page repeats the head.
        {scope: 'col', class: isNumeric(column) ? 'number' : null, 'data-title': title},
        element('button', {type: 'button', onclick: () => sortBy(index)}, title));
    if (definition) {
      head.append(element(
          'a', {
            class: 'def',
            href: `#g-${definition}`,
            title: glossaryText(`g-${definition}`),
            'aria-label': `Definition of ${title}`
          },
          '?'));
    }
    if (unit) head.append(element('small', {}, unit));
    return head;
  });
  state.heads = cells;
  return element('thead', {}, element('tr', {}, ...cells));
}

function sectionOfRanks() { return document.getElementById('one-rank'); }

function openRank(rank) { document.dispatchEvent(new CustomEvent('rank', {detail: rank})); }

function tableRow(table, row) {
  return element('tr', {}, ...row.map((value, index) => {
    const column = table.columns[index];
    const text = cellText(value, column);
    const kind = isNumeric(column) ? 'number' : text.length > 40 ? 'text' : '';
    const shown = column[0] === 'rank' && /^rank \d+$/.test(text) && sectionOfRanks() ?
        element('a', {href: '#one-rank', onclick: () => openRank(text)}, text) :
        text;
    return element('td', {class: `${kind}${text === kNone ? ' none' : ''}` || null}, shown);
  }));
}

// Appends the table under its title. Columns in which nothing is known are left out of sight, not
// of the CSV; those that give way are behind a button where the table is too wide for the page.
export function addTable(place, key, given, title) {
  if (!given || given.rows.length === 0) return false;
  const seen =
      given.columns.map((column, i) => given.rows.some((row) => !isAbsent(row[i])));
  const pick = (row) => row.filter((value, i) => seen[i]);
  const table = {columns: pick(given.columns), rows: given.rows.map(pick)};
  const sort = choiceOf(`${key}.sort`);
  const state = {
    sort: table.columns.findIndex((column) => column[0] === sort.replace(/^-/, '')),
    direction: sort.startsWith('-') ? -1 : 1,
    all: false,
    allColumns: false,
    hidden: 0,  // of `giving`
    word: choiceOf(`${key}.filter`),
    heads: []
  };
  const giving = (given.gives_way || [])
                     .map((key) => table.columns.findIndex((column) => column[0] === key))
                     .filter((i) => i >= 0);
  const body = element('tbody');
  const sideways = element('span', {class: 'note sideways', hidden: ''}, 'more columns to the right →');
  const count = element('span', {class: 'note', 'aria-live': 'polite'});
  const more = element('button', {
    type: 'button',
    onclick: () => {
      state.all = true;
      draw();
    }
  });

  const columns = element('button', {
    type: 'button',
    class: 'columns',
    onclick: () => {
      state.allColumns = !state.allColumns;
      fit();
    }
  });

  function hideColumns(count) {
    state.hidden = count;
    for (const row of scroll.querySelectorAll('tr'))
      giving.forEach((at, i) => { row.cells[at].hidden = i < count; });
  }

  // Hides no more columns than it must.
  function fit() {
    hideColumns(0);
    while (!state.allColumns && state.hidden < giving.length &&
           scroll.scrollWidth > scroll.clientWidth)
      hideColumns(state.hidden + 1);
    columns.hidden = state.hidden === 0 && !state.allColumns;
    columns.textContent = state.allColumns ?
        'Fewer columns' :
        `${state.hidden} more ${state.hidden === 1 ? 'column' : 'columns'}`;
    showWidth();
  }

  function draw() {
    let rows = table.rows;
    if (state.word) {
      const [, whole] = /^"(.*)"$/.exec(state.word) || [];
      const fits = (text) => (whole === undefined ? text.includes(state.word) : text === whole);
      rows = rows.filter(
          (row) =>
              row.some((value, i) => fits(cellText(value, table.columns[i]).toLowerCase())));
    }
    if (state.sort >= 0) {
      rows = [...rows].sort((a, b) => compareCells(a[state.sort], b[state.sort], state.direction));
    }
    const shown = state.all ? rows : rows.slice(0, kRowsAtFirst);
    body.replaceChildren(...shown.map((row) => tableRow(table, row)));
    hideColumns(state.hidden);
    state.heads.forEach((head, i) => {
      if (i === state.sort)
        head.setAttribute('aria-sort', state.direction > 0 ? 'ascending' : 'descending');
      else
        head.removeAttribute('aria-sort');
    });
    more.hidden = shown.length === rows.length;
    more.textContent = `Show all ${integerText(rows.length)} rows`;
    const left = given.left_out ? `; ${integerText(given.left_out)} more are not in this page` : '';
    const first = shown.length < rows.length ? `the first ${integerText(shown.length)} of ` : '';
    count.textContent = first + (state.word ? `${integerText(rows.length)} of ` : '') +
        `${integerText(table.rows.length)} ${table.rows.length === 1 ? 'row' : 'rows'}${left}`;
  }

  function sortBy(index) {
    // Numbers begin with the greatest.
    const first = isNumeric(table.columns[index]) ? -1 : 1;
    state.direction = state.sort === index ? -state.direction : first;
    state.sort = index;
    setChoice(`${key}.sort`, (state.direction < 0 ? '-' : '') + table.columns[index][0]);
    draw();
  }

  const filter = table.rows.length > 8 ? element('input', {
    type: 'search',
    placeholder: 'Filter; "rank 1" alone',
    'aria-label': `Filter ${title || given.title}; in quotes, a whole cell`,
    value: state.word,
    oninput: (event) => {
      state.word = event.target.value.trim().toLowerCase();
      setChoice(`${key}.filter`, state.word);
      draw();
    },
  }) :
                                         null;
  const scroll = element(
      'div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': title || given.title},
      element('table', {'data-table': key}, tableHead(key, table, state, sortBy), body));
  const showWidth = () => {
    sideways.hidden = scroll.scrollLeft + scroll.clientWidth >= scroll.scrollWidth - 1;
  };
  scroll.addEventListener('scroll', showWidth);
  new ResizeObserver(fit).observe(scroll);
  place.append(
      element(
          'h3', {id: `table-${key}`}, title || given.title,
          element(
              'a', {
                class: 'def',
                href: `#table-${key}`,
                'aria-label': `Link to ${title || given.title}`
              },
              '#')),
      scroll,
      element(
          'div', {class: 'bar'}, count, sideways, columns, more, filter,
          csvButton(key, () => csvText(given.columns.map((column) => column[0]), given.rows))));
  draw();
  return true;
}
