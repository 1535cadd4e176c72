import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readRoles } from './roles.ts';

const shipped = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

describe('the shipped roles', () => {
  it('are seven, sound, described, and typed where the review loop needs it', { tags: ['A11'] }, async () => {
    const roles = await readRoles(
      { directory: shipped('roles'), from: 'shipped', why: '', charters: false },
      async () => true,
    );
    expect(roles.map(({ id, meta, fault, warnings }) => [id, meta.type ?? null, fault, warnings])).toEqual([
      ['architect', null, null, []],
      ['backend-developer', null, null, []],
      ['coder', 'coding', null, []],
      ['frontend-developer', null, null, []],
      ['planner', 'planning', null, []],
      ['qa-engineer', null, null, []],
      ['reviewer', 'review', null, []],
    ]);
    for (const role of roles) {
      expect(role.name).not.toBe(role.id);
      expect(role.description.length).toBeGreaterThan(40);
      expect(role.body).toMatch(/## Look first[\s\S]*## How to work[\s\S]*## Hand back[\s\S]*## Never/);
    }
  });

  it('hold characters every terminal can show', async () => {
    const roles = await readRoles(
      { directory: shipped('roles'), from: 'shipped', why: '', charters: false },
      async () => true,
    );
    for (const role of roles) expect(await readFile(role.file, 'utf8')).toMatch(/^[\n\x20-\x7e]*$/);
  });
});
