import { describe, expect, it } from 'vitest';
import { digestOf } from './context.ts';

const digest = (file: string, ...text: string[]) =>
  digestOf(file, text.join('\n'))
    .lines.map(line => line.text)
    .filter(line => line !== '');

it.each([
  ['PRD.md', 'summary'],
  ['docs/prd.md', 'summary'],
  ['PLAN.md', 'current iteration'],
  ['ARCHITECTURE.md', 'overview'],
  ['CLAUDE.md', 'whole'],
  ['AGENTS.md', 'whole'],
  ['constructor', 'whole'],
])('takes %s as %s', (file, how) => {
  expect(digestOf(file, 'x').how).toBe(how);
});

describe('a summary', () => {
  it('has title, opening and what the telling sections begin with, and names the others', () => {
    expect(
      digest(
        'PRD.md',
        ...['---', 'owner: me', '# note', '---', '<!-- draft', '# no -->', '# Shop', '', 'Sells things.', ''],
        ...['## Market', '', 'Large.', '', '## Goals', '', '- fast', '- cheap', ''],
        ...['### Later', '', 'a', 'b', 'c', 'd', '', '#### Deep', 'x', '## History', 'Long ago.'],
        ...['## Functional Requirements', '', 'It sells.', '## Non-goals', 'Shipping.'],
      ),
    ).toEqual([
      ...['# Shop', 'Sells things.', '## Goals', '- fast', '- cheap', '### Later', 'a', 'b', 'c', '…'],
      ...['## Functional Requirements', 'It sells.', '## Non-goals', 'Shipping.'],
      'Also in the file: Market; History.',
    ]);
  });

  it('without any telling section has what each begins with', () => {
    expect(digest('PRD.md', '# Laden', 'Verkauft.', '## Ziele', 'schnell', '## Markt', 'gross')).toEqual([
      ...['# Laden', 'Verkauft.', '## Ziele', 'schnell', '## Markt', 'gross'],
    ]);
  });

  it('of a page without headings is how it begins', () => {
    const page = Array.from({ length: 40 }, (_, at) => `line ${at}`);
    expect(digest('PRD.md', ...page)).toEqual([...page.slice(0, 14), '…']);
  });

  it('keeps a long first line whole', () => {
    const long = 'word '.repeat(1_000).trim();
    expect(digest('PRD.md', '# T', long, 'next')).toEqual(['# T', long, '…']);
  });
});

describe('an overview', () => {
  it('has every section of the highest level, with how it begins', () => {
    expect(
      digest(
        'ARCHITECTURE.md',
        ...['Parts', '=====', 'Three parts.', '', 'Store', '-----', 'SQLite.', '### Tables', 'Many.'],
        ...['## Wire', 'HTTP.'],
      ),
    ).toEqual(['# Parts', 'Three parts.', '## Store', 'SQLite.', '## Wire', 'HTTP.']);
  });

  it('takes a drawing whole or not at all', () => {
    const drawing = (rows: number) => ['```', ...Array.from({ length: rows }, () => '| # |'), '```'];
    expect(digest('ARCHITECTURE.md', '# A', ...drawing(3), '## B', 'x', ...drawing(40), 'y')).toEqual([
      ...['# A', ...drawing(3), '## B', 'x', '…'],
    ]);
  });
});

it('reads a megabyte of headings in a moment', () => {
  const many = '# a\n<!--\n# Goals\n## Phase\n'.repeat(40_000);
  for (const file of ['PRD.md', 'PLAN.md', 'ARCHITECTURE.md'])
    expect(digest(file, many).length).toBeGreaterThan(0);
});
