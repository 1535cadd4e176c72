import { describe, expect, it } from 'vitest';
import { readRoster } from './roster.ts';
import { randomOf, weave } from './testing/random-text.ts';

const REAL = `# Mission

> A motto.

## Coordinator

| Name | Role | Notes |
|------|------|-------|
| Squad | Coordinator | Routes work; \`a|b\` stays whole. |

## Members

| Name | Role | Charter | Status |
|------|------|---------|--------|
| **Flight** | Lead | \`.squad/agents/flight/charter.md\` | ✅ Active |
| Fact Checker | Doubts \\| asks | [charter](.squad/agents/facts/charter.md) | 🔍 Reviewer |
| coder | Coder | \`.squad/agents/coder.md\` | |
| Ralph | Monitor | — | 🔄 |

## Other tables

| Issue | Owner |
|---|---|
| 1 | Flight |
`;

describe('team.md', () => {
  it('gives everybody in a table with a name and a role', { tags: ['B11'] }, () => {
    const { members, notes } = readRoster(REAL);
    expect(members).toEqual([
      {
        ...{
          name: 'Squad',
          role: 'Coordinator',
          charter: null,
          status: null,
          agent: 'squad',
          group: 'Coordinator',
        },
        more: { Notes: 'Routes work; a|b stays whole.' },
      },
      {
        ...{ name: 'Flight', role: 'Lead', charter: '.squad/agents/flight/charter.md', status: 'Active' },
        ...{ agent: 'flight', group: 'Members' },
      },
      {
        ...{ name: 'Fact Checker', role: 'Doubts | asks', charter: '.squad/agents/facts/charter.md' },
        ...{ status: 'Reviewer', agent: 'facts', group: 'Members' },
      },
      {
        ...{ name: 'coder', role: 'Coder', charter: '.squad/agents/coder.md', status: null },
        ...{ agent: 'coder', group: 'Members' },
      },
      { name: 'Ralph', role: 'Monitor', charter: null, status: '🔄', agent: 'ralph', group: 'Members' },
    ]);
    expect(notes).toEqual([]);
  });

  it('takes the columns in any order, and a table without outer bars', () => {
    const text = 'status | NAME | x | role\n--- | :---: | --- | ---\nbusy | Ann Lee | y | Lead\n';
    expect(readRoster(text).members).toEqual([
      {
        ...{ name: 'Ann Lee', role: 'Lead', charter: null, status: 'busy', agent: 'ann-lee', group: null },
        more: { x: 'y' },
      },
    ]);
  });

  it('says what is missing: a table, a name', () => {
    expect(readRoster('# Team\n\nJust us.\n')).toEqual({
      members: [],
      notes: [expect.stringContaining('Name and Role')],
    });
    expect(readRoster('|Name|Role|\n|-|-|\n| |x|\n').notes).toEqual([expect.stringContaining('no name')]);
  });

  it('throws at nothing', () => {
    const random = randomOf(3);
    for (let round = 0; round < 400; round++) {
      const text = weave(random);
      expect(() => readRoster(text)).not.toThrow();
    }
  });

  it('loses no member, however short or long their row', () => {
    const random = randomOf(4);
    for (let round = 0; round < 100; round++) {
      const names = Array.from({ length: 1 + random(20) }, (_, at) => `Member ${at}`);
      const rows = names.map(name => `| ${name} |${' x |'.repeat(random(6))}`);
      const { members } = readRoster(`| Name | Role |\n|---|---|\n${rows.join('\n')}\n\nAfter.\n`);
      expect(members.map(({ name }) => name)).toEqual(names);
    }
  });
});
