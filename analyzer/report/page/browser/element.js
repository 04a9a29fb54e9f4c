// SPDX-License-Identifier: Apache-2.0

// Parts of the page: elements, choices, and what offers figures as CSV.

import {ranksText} from 'page/format';

// Makes an element; texts of traces come in as text, never as markup.
export function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith('on'))
      made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined)
      made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// A sentence in which commands and options stand between backticks, as parts of an element.
export function withCode(text) {
  return text.split(/`((?:ringside |--)[^`]*)`/)
      .map((part, i) => i % 2 === 0 ? part : element('code', {class: 'word'}, part));
}

// A command for a shell, which a click selects.
export function commandLine(title, command) {
  return element('span', {class: 'command'}, `${title}: `, element('code', {}, command));
}

export function csvText(columns, rows) {
  const quoted = (value) => {
    if (value === null || value === undefined) return '';
    let text = Array.isArray(value) ? ranksText(value) : String(value);
    // A spreadsheet takes a text that begins so for a formula.
    if (typeof value === 'string' && /^[=+\-@\t\r]/.test(text) && !/^-?\d+$/.test(text))
      text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(quoted).join(',')).join('\n') + '\n';
}

export function csvButton(name, make) {
  return element(
      'button', {
        type: 'button',
        class: 'csv',
        'data-csv': name,
        'aria-label': `Download ${name} as CSV`,
        onclick: () => {
          const address = URL.createObjectURL(new Blob([make()], {type: 'text/csv'}));
          const link = element('a', {href: address, download: `${name}.csv`});
          document.body.append(link);
          link.click();
          link.remove();
          setTimeout(() => URL.revokeObjectURL(address), 1000);
        },
      },
      'CSV');
}

export function chooser(label, names, choose) {
  return element(
      'label', {}, `${label} `,
      element(
          'select', {
            onchange: (event) => choose(Number(event.target.value)),
          },
          ...names.map((name, i) => element('option', {value: i}, name))));
}
