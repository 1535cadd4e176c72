import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TeamMemory } from '../../core/ports/workspace.ts';
import { createTeamMemories } from './team-memory.ts';

const AT = new Date('2026-05-06T07:08:09Z');
const NEW = { title: 'One clock', what: 'w', why: 'y', by: 'coder (run_1)', author: 'coder' };
const SECRET = 'TOP-SECRET-OUTSIDE';

let base: string;
let root: string;
let team: TeamMemory;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'squad-team-')));
  root = join(base, 'work');
  mkdirSync(root);
  write('../outside/history.md', `- ${SECRET}\n`);
  write('../outside/charter.md', SECRET);
  team = createTeamMemories()(root);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function write(path: string, text: string): string {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

describe('memory of a team', () => {
  it('is nothing without the folder, which a note says and a record is refused for', async () => {
    expect(await team.roster()).toEqual({ members: [], notes: [expect.stringContaining('squad init')] });
    expect(await team.backlog()).toEqual({
      ...{ groups: [], notes: [expect.stringContaining('squad init')], revision: 'none' },
    });
    expect(await team.decisions()).toMatchObject({
      decisions: [],
      notes: [expect.stringContaining('squad init')],
    });
    expect(await team.agents()).toEqual([]);
    await expect(team.record(NEW, AT)).rejects.toMatchObject({ code: 'TEAM_MISSING' });
    expect(existsSync(join(root, '.squad'))).toBe(false);
  });

  it('is read from its files, as they are now', async () => {
    write('.squad/team.md', '| Name | Role |\n|---|---|\n| Ann | Lead |\n');
    write('.squad/backlog.md', '- [ ] a\n');
    write('.squad/decisions.md', '\ufeff### One\nWhat: x\n');
    write('.squad/decisions/inbox/2026-01-01-b.md', '# Two\n');
    write('.squad/decisions/inbox/.draft.md', '# No\n');
    write('.squad/decisions/inbox/notes.txt', '# No\n');
    expect((await team.roster()).members).toMatchObject([{ name: 'Ann' }]);
    expect((await team.backlog()).groups[0]!.items).toHaveLength(1);
    const first = await team.decisions();
    expect(first.decisions.map(({ title, merged }) => [title, merged])).toEqual([
      ['Two', false],
      ['One', true],
    ]);
    expect((await team.decisions()).revision).toBe(first.revision);
    write('.squad/decisions.md', '### Uno\nWhat: x\n');
    const second = await team.decisions();
    expect(second.decisions.map(({ title }) => title)).toEqual(['Two', 'Uno']);
    expect(second.revision).not.toBe(first.revision);
  });

  it('has agents by their folders and by their files, not those in a folder with an underscore', async () => {
    write('.squad/agents/ann/charter.md', 'I lead.');
    write('.squad/agents/ann/history.md', '- learned\n');
    write('.squad/agents/coder.md', 'You code.');
    write('.squad/agents/_alumni/bob/charter.md', 'x');
    expect(await team.agents()).toEqual([
      { name: 'ann', hasCharter: true, hasHistory: true },
      { name: 'coder', hasCharter: true, hasHistory: false },
    ]);
    expect(await team.charter('Ann')).toBe('I lead.');
    expect(await team.charter('coder')).toBe('You code.');
    expect(await team.history('ann')).toMatchObject([{ text: '- learned' }]);
    expect(await team.history('coder')).toBeNull();
  });

  it('is the newest of what is too long, and a note says so', async () => {
    const long = (line: (at: number) => string) =>
      Array.from({ length: 200_000 }, (_, at) => line(at)).join('');
    write(
      '.squad/decisions.md',
      long(at => `### Number ${at}\n`),
    );
    write(
      '.squad/agents/ann/history.md',
      long(at => `### Learned ${at}\n`),
    );
    const { decisions, notes } = await team.decisions();
    expect(decisions).toHaveLength(5_000);
    expect(decisions.map(({ title }) => title)).toContain('Number 199999');
    expect(notes).toEqual([expect.stringContaining('only its end'), expect.stringContaining('5000')]);
    const learned = (await team.history('ann'))!;
    expect([learned.length, learned.at(-1)]).toMatchObject([5_000, { title: 'Learned 199999' }]);
  });

  it('begins with a whole decision where the beginning of the file is left out', async () => {
    const body = `What: x\n\n${`#### Part\n\n${'word '.repeat(8)}\n\n`.repeat(20)}`;
    write(
      '.squad/decisions.md',
      Array.from({ length: 2_000 }, (_, at) => `### Number ${at}\n${body}`).join(''),
    );
    const { decisions, notes } = await team.decisions();
    expect(decisions.length).toBeLessThan(2_000);
    expect(decisions.every(({ title, what }) => title.startsWith('Number ') && what !== null)).toBe(true);
    expect(notes).toEqual([expect.stringContaining('only its end')]);
  });

  it('is the beginning of a roster and a backlog that are too long, and a note says so', async () => {
    write('.squad/team.md', `| Name | Role |\n|-|-|\n${'| Ann | Lead |\n'.repeat(200_000)}`);
    write('.squad/backlog.md', `- [ ] first\n${'- [ ] more\n'.repeat(200_000)}`);
    const [roster, backlog] = [await team.roster(), await team.backlog()];
    expect(roster.members).toHaveLength(5_000);
    expect(roster.notes).toEqual([expect.stringContaining('beginning'), expect.stringContaining('5000')]);
    expect(backlog.groups[0]!.items).toHaveLength(5_000);
    expect(backlog.groups[0]!.items[0]).toMatchObject({ title: 'first' });
    expect(backlog.notes).toEqual([expect.stringContaining('beginning'), expect.stringContaining('5000')]);
  });

  it('is what of the inbox can be read: a file of too many lines keeps no other out', async () => {
    write('.squad/decisions/inbox/z-flood.md', '### a\n'.repeat(40_000));
    write('.squad/decisions/inbox/a-good.md', '# Good\n');
    const { decisions, notes } = await team.decisions();
    expect(decisions.map(({ title }) => title)).toEqual(['Good']);
    expect(notes).toEqual([expect.stringContaining('1 of its 2 files')]);
  });

  it('is no file that is too large, no pipe, no link: each is a note', async () => {
    mkdirSync(join(root, '.squad'));
    symlinkSync(join(base, 'outside', 'charter.md'), join(root, '.squad', 'backlog.md'));
    mkdirSync(join(root, '.squad', 'decisions.md'));
    write('.squad/decisions/inbox/large.md', 'x'.repeat(300 * 1024));
    expect((await team.decisions()).notes).toContainEqual(expect.stringContaining('bytes'));
    rmSync(join(root, '.squad', 'decisions'), { recursive: true });
    symlinkSync(join(base, 'outside'), join(root, '.squad', 'decisions'));
    expect((await team.backlog()).notes).toEqual([expect.stringContaining('symbolic link')]);
    const { decisions, notes } = await team.decisions();
    expect(decisions).toEqual([]);
    expect(notes).toEqual([expect.stringContaining('not a regular file')]);
    symlinkSync(join(base, 'outside'), join(base, 'outside', 'inbox'));
    expect((await team.decisions()).notes).toContainEqual(
      expect.stringContaining('leads out of the workspace'),
    );
    await expect(team.record(NEW, AT)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(readdirSync(join(base, 'outside')).sort()).toEqual(['charter.md', 'history.md', 'inbox']);
  });

  it('is nothing behind a link for .squad itself', async () => {
    symlinkSync(join(base, 'outside'), join(root, '.squad'));
    expect((await team.decisions()).notes).toEqual([expect.stringContaining('out of the workspace')]);
    await expect(team.record(NEW, AT)).rejects.toMatchObject({ code: 'TEAM_MISSING' });
  });
});

describe('the name of an agent', () => {
  it('opens nothing outside, however it is written', async () => {
    write('.squad/agents/ann/history.md', '- mine\n');
    symlinkSync(join(base, 'outside'), join(root, '.squad', 'agents', 'linked'));
    mkdirSync(join(root, '.squad', 'agents', 'half'));
    symlinkSync(join(base, 'outside', 'history.md'), join(root, '.squad', 'agents', 'half', 'history.md'));
    const names = traversals();
    expect(names.length).toBeGreaterThanOrEqual(300);
    for (const name of [...names, 'linked', 'half']) {
      const seen = JSON.stringify([await team.history(name), await team.charter(name)]);
      expect(seen, name).toBe('[null,null]');
    }
    expect(await team.history('ann')).toHaveLength(1);
  });
});

/** Every way out of the folder that somebody has thought of, in every spelling. */
function traversals(): string[] {
  const ups = [
    '..',
    '%2e%2e',
    '%2E.',
    '..%00',
    '....',
    '.\u2024',
    '\uff0e\uff0e',
    '%c0%ae%c0%ae',
    '.. ',
    '..;',
  ];
  const slashes = ['/', '\\', '%2f', '%5c', '%252f', '\u2215', '\uff0f', '//', '/./'];
  const ends = ['outside', 'work/../outside', 'ann/../../../outside', '', 'outside\0'];
  const combined = ups.flatMap(up =>
    slashes.flatMap(slash => ends.map(end => `${[up, up, up].join(slash)}${slash}${end}`)),
  );
  const plain = [
    '',
    '.',
    '..',
    '/',
    '~',
    '~/x',
    'ann/',
    './ann',
    'ann/.',
    '/etc/passwd',
    join(base, 'outside'),
    'con',
    'ann\0',
    'ann\n',
    '__proto__',
    'constructor',
    'toString',
  ];
  return [...combined, ...plain, ...combined.slice(0, 50).map(name => `ann/${name}`)];
}

describe('recording', () => {
  it('says the id by which everybody finds it, also when there is another of its title', async () => {
    mkdirSync(join(root, '.squad'));
    const recorded: { id: string }[] = [];
    for (const what of ['one', 'two', 'three']) recorded.push(await team.record({ ...NEW, what }, AT));
    const { decisions } = await team.decisions();
    expect(new Set(recorded.map(({ id }) => id)).size).toBe(3);
    for (const [at, what] of ['one', 'two', 'three'].entries())
      expect(decisions.find(({ id }) => id === recorded[at]!.id)).toMatchObject({ what });
  });

  it('makes a file of its own, whoever else records at that moment', async () => {
    mkdirSync(join(root, '.squad'));
    const others = Array.from({ length: 5 }, () => createTeamMemories()(root));
    const written = await Promise.all(
      Array.from({ length: 50 }, (_, at) => others[at % 5]!.record({ ...NEW, what: `number ${at}` }, AT)),
    );
    expect(new Set(written.map(({ file }) => file)).size).toBe(50);
    const { decisions } = await team.decisions();
    expect(decisions.map(({ what }) => what).sort()).toEqual(
      Array.from({ length: 50 }, (_, at) => `number ${at}`).sort(),
    );
    expect(new Set(decisions.map(({ id }) => id)).size).toBe(50);
    expect(written[0]!.file).toMatch(/^\.squad\/decisions\/inbox\/2026-05-06-coder-one-clock/);
  });

  it('touches nothing that is there', { tags: ['B11'] }, async () => {
    const main = write('.squad/decisions.md', '### Mine\r\nas it is');
    const theirs = write('.squad/decisions/inbox/2026-05-06-coder-one-clock.md', 'theirs');
    const { file, id } = await team.record(NEW, AT);
    expect(file).toBe('.squad/decisions/inbox/2026-05-06-coder-one-clock-2.md');
    expect((await team.decisions()).decisions.map(each => each.id)).toContain(id);
    expect(readFileSync(main, 'utf8')).toBe('### Mine\r\nas it is');
    expect(readFileSync(theirs, 'utf8')).toBe('theirs');
  });

  it('does not write through a link that waits under the name', async () => {
    mkdirSync(join(root, '.squad/decisions/inbox'), { recursive: true });
    symlinkSync(
      join(base, 'outside', 'new.md'),
      join(root, '.squad/decisions/inbox/2026-05-06-coder-one-clock.md'),
    );
    await team.record(NEW, AT);
    expect(existsSync(join(base, 'outside', 'new.md'))).toBe(false);
  });
});
