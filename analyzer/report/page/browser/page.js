// SPDX-License-Identifier: Apache-2.0

// Puts the page together from its data.

import {readAddress, showPlace} from 'page/address';
import {element} from 'page/element';
import {kTitles, sectionOf, sectionsOf} from 'page/sections';

// Evidence of the gravest finding comes first.
function orderSections(data) {
  const first = data.health.findings.find((finding) => finding.severity !== 'note');
  const place = sectionOf('sections');
  const ids = sectionsOf(data).map(([id]) => id);
  for (const section of [...place.children])
    if (!ids.includes(section.id)) section.remove();
  if (first && sectionOf(first.section) && sectionOf(first.section).parentNode === place)
    place.prepend(sectionOf(first.section));
}

// Sections without a figure are a line each, behind the others.
function orderWords(data) {
  const place = sectionOf('sections');
  for (const [id] of sectionsOf(data)) {
    const section = sectionOf(id);
    if (section.parentNode !== place || section.children.length > 2 ||
        section.querySelector('table, svg'))
      continue;
    section.classList.add('words');
    if (section !== place.firstElementChild) place.append(section);
  }
  sectionOf('contents')
      .replaceChildren(...[...place.children, sectionOf('glossary')].map(
          (section) =>
              element('li', {}, element('a', {href: `#${section.id}`}, kTitles[section.id]))));
}

function addTheme() {
  const names = ['system', 'light', 'dark'];
  const button = sectionOf('theme');
  let at = 0;
  const set = () => {
    if (at === 0)
      document.documentElement.removeAttribute('data-theme');
    else
      document.documentElement.setAttribute('data-theme', names[at]);
    button.textContent = `Theme: ${names[at]}`;
  };
  button.addEventListener('click', () => {
    at = (at + 1) % names.length;
    set();
  });
}

// One that fails says so in its place, and leaves the others as they are.
function addSection(id, add, data) {
  const place = sectionOf(id);
  try {
    add(place, data);
  } catch (error) {
    console.error(error);
    place.append(element(
        'p', {class: 'failed', role: 'alert'},
        `This part of the page could not be drawn: ${error.message}`));
  }
}

function main() {
  const data = JSON.parse(sectionOf('data').textContent);
  sectionOf('job').textContent = data.jobs.filter((job) => job).join(', ');
  document.title = `${data.jobs.filter((job) => job).join(', ') || 'Ringside'} – report`;
  sectionOf('made').textContent = `Made by ${data.tool.name} ${data.tool.version}.`;
  addTheme();
  readAddress();
  addSection('sections', (place, all) => orderSections(all), data);
  for (const [id, add] of sectionsOf(data)) addSection(id, add, data);
  orderWords(data);
  showPlace();
}

main();
