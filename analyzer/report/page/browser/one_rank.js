// SPDX-License-Identifier: Apache-2.0

// The section of one rank: its rows of all tables.

import {choiceOf, setChoice} from 'page/address';
import {element} from 'page/element';
import {addTable} from 'page/table';

const kChoice = 'one-rank.of';

function numberOf(rank) { return Number(rank.replace('rank ', '')); }

// The table with the rows in which the rank is named, by its number or as "rank 5".
function rowsOf(table, rank) {
  const column = table.columns.findIndex(([key]) => key === 'rank');
  const number = numberOf(rank);
  return {
    ...table,
    left_out: 0,
    rows: table.rows.filter((row) => row.includes(rank) || (column >= 0 && row[column] === number))
  };
}

function ranksOf(data) {
  const rows = data.tables.shares ? data.tables.shares.rows : [];
  return [...new Set(rows.map((row) => row[0]))];
}

export function hasRanks(data) { return ranksOf(data).length > 1; }

export function addOneRank(place, data) {
  const ranks = ranksOf(data);
  const worst = data.tables.stragglers_ranks.rows[0];
  const tables = element('div');
  const show = (rank) => {
    tables.replaceChildren();
    for (const [key, table] of Object.entries(data.tables)) {
      if (table.columns.some(([name]) => name === 'rank' || name === 'slowest'))
        addTable(tables, `one-rank_${key}`, rowsOf(table, rank));
    }
  };
  const choose = element(
      'select', {
        onchange: (event) => {
          setChoice(kChoice, event.target.value);
          show(event.target.value);
        }
      },
      ...ranks.map((rank) => element('option', {value: rank}, rank)));
  const take = (rank) => {
    choose.value = rank;
    show(rank);
  };
  document.addEventListener('rank', (event) => {
    setChoice(kChoice, event.detail);
    take(event.detail);
  });
  place.append(element('div', {class: 'bar'}, element('label', {}, 'Rank ', choose)), tables);
  const asked = choiceOf(kChoice);
  take(ranks.includes(asked) ? asked : worst && ranks.includes(worst[0]) ? worst[0] : ranks[0]);
}
