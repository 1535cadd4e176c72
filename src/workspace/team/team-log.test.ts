import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TeamEntry, TeamState } from '../../core/team/state-files.ts';
import { dropHomeTeamFolders, homeTeamFolder } from './team-file.ts';
import { TeamLog } from './team-log.ts';

let workspace: string;
let errors: string[];
let asked: number;
let state: TeamState;
let log: TeamLog;
beforeEach(async () => {
  workspace = join(await realpath(await mkdtemp(join(tmpdir(), 'squad-team-'))), 'workspace');
  await mkdir(join(workspace, '.squad'), { recursive: true });
  errors = [];
  asked = 0;
  state = { at: 0, active: [], recent: [] };
  log = newLog();
});
afterEach(() => rm(dirname(workspace), { recursive: true, force: true }));

const home = () => join(dirname(workspace), 'home');
const newLog = () =>
  new TeamLog({
    home: home(),
    stateOf: async () => {
      asked++;
      return state;
    },
    onError: (file, reason) => errors.push(`${file.slice(workspace.length + 1)}: ${reason}`),
  });
const entry = (runId: string, summary = 'Do it'): TeamEntry => ({
  ...{
    kind: 'start',
    at: 0,
    runId,
    squadId: 'squad',
    name: null,
    engine: 'scripted',
    model: null,
    summary,
  },
});
const path = (name: string) => join(workspace, '.squad', name);
const read = (name: string) => readFileSync(path(name), 'utf8');
const logged = () => [...read('IAC.md').matchAll(/^- .* · start · (\S+) · /gm)].map(([, runId]) => runId);

describe('TeamLog', () => {
  it('writes both files, and nothing else', async () => {
    const since = Date.UTC(2026, 0, 1);
    state.active = [
      {
        runId: 'r1',
        squadId: 's',
        name: null,
        engine: 'e',
        model: null,
        summary: 'x',
        status: 'running',
        since,
      },
    ];
    log.record(workspace, entry('r1'));
    await log.flush();
    expect(logged()).toEqual(['r1']);
    expect(read('CONTEXT.md')).toContain('| r1 | s | e | running | 2026-01-01T00:00:00Z | x |');
    expect(readdirSync(join(workspace, '.squad')).sort()).toEqual(['CONTEXT.md', 'IAC.md']);
    expect(errors).toEqual([]);
  });

  it('keeps the files of a workspace without the folder in the home, and moves the log when there is one', {
    tags: ['C7'],
  }, async () => {
    const inHome = homeTeamFolder(home(), workspace);
    await rm(join(workspace, '.squad'), { recursive: true });
    log.record(workspace, entry('r1'));
    await log.flush();
    expect(readdirSync(workspace)).toEqual([]);
    expect(readdirSync(inHome).sort()).toEqual(['CONTEXT.md', 'IAC.md']);
    expect(statSync(inHome).mode & 0o777).toBe(0o700);
    await writeFile(join(workspace, '.squad'), 'a file');
    log.record(workspace, entry('r2'));
    await log.flush();
    await rm(join(workspace, '.squad'));
    await mkdir(join(workspace, '.squad'));
    log.record(workspace, entry('r3'));
    await log.flush();
    expect(logged()).toEqual(['r1', 'r2', 'r3']);
    expect(readdirSync(join(home(), 'team'))).toEqual([]);
    expect(errors).toEqual([]);
  });

  it('in the home go with the last run of their workspace', async () => {
    await rm(join(workspace, '.squad'), { recursive: true });
    log.record(workspace, entry('r1'));
    await log.flush();
    await dropHomeTeamFolders(home(), [workspace]);
    expect(readdirSync(join(home(), 'team'))).toHaveLength(1);
    await dropHomeTeamFolders(home(), ['/elsewhere']);
    expect(readdirSync(join(home(), 'team'))).toEqual([]);
  });

  it('keeps the order of a burst, each entry once, in one write', async () => {
    const ids = Array.from({ length: 200 }, (_, at) => `r${at}`);
    for (const id of ids) log.record(workspace, entry(id));
    await log.flush();
    expect(logged()).toEqual(ids);
    expect(asked).toBe(1);
  });

  it('has what was recorded written before a flush settles, although more is recorded with every write', {
    tags: ['R33'],
  }, async () => {
    let isOver = false;
    const busy: TeamLog = new TeamLog({
      home: home(),
      stateOf: async () => {
        if (!isOver) busy.refresh(workspace);
        return state;
      },
      onError: () => {},
    });
    busy.record(workspace, entry('r1'));
    await busy.flush();
    expect(logged()).toEqual(['r1']);
    isOver = true;
    await busy.flush();
  });

  it('writes what is recorded while it writes, with the next write', async () => {
    const late = ['late1', 'late2'];
    log = new TeamLog({
      home: home(),
      stateOf: async () => {
        for (const id of late.splice(0)) log.record(workspace, entry(id));
        return state;
      },
      onError: (file, reason) => errors.push(`${file}: ${reason}`),
    });
    log.record(workspace, entry('first'));
    await log.flush();
    await log.flush();
    expect(logged()).toEqual(['first', 'late1', 'late2']);
    expect(errors).toEqual([]);
  });

  it('loses nothing when two hubs write to one workspace', async () => {
    const other = newLog();
    log.record(workspace, entry('first'));
    await log.flush();
    const mine = Array.from({ length: 30 }, (_, at) => `mine${at}`);
    const theirs = Array.from({ length: 30 }, (_, at) => `theirs${at}`);
    for (let at = 0; at < 30; at++) {
      log.record(workspace, entry(mine[at]!));
      other.record(workspace, entry(theirs[at]!));
      await Promise.all([log.flush(), other.flush()]);
    }
    expect(logged().sort()).toEqual(['first', ...mine, ...theirs].sort());
    expect(logged().filter(id => id?.startsWith('mine'))).toEqual(mine);
  });

  it('does not mix up workspaces', async () => {
    const other = join(dirname(workspace), 'other');
    await mkdir(join(other, '.squad'), { recursive: true });
    log.record(workspace, entry('here'));
    log.record(other, entry('there'));
    await log.flush();
    expect(read('IAC.md')).not.toContain('there');
    expect(readFileSync(join(other, '.squad/IAC.md'), 'utf8')).toContain('there');
  });

  it('keeps what people wrote, and the mode of the files', async () => {
    await writeFile(path('IAC.md'), 'My log.\n');
    await writeFile(path('CONTEXT.md'), 'My context.\n');
    chmodSync(path('CONTEXT.md'), 0o600);
    log.record(workspace, entry('r1'));
    await log.flush();
    log.record(workspace, entry('r2'));
    await log.flush();
    expect(read('IAC.md')).toMatch(/^My log\.\n/);
    expect(logged()).toEqual(['r1', 'r2']);
    expect(read('CONTEXT.md')).toMatch(/^My context\.\n/);
    expect(read('CONTEXT.md').match(/As of/g)).toHaveLength(1);
    expect(statSync(path('CONTEXT.md')).mode & 0o777).toBe(0o600);
  });

  it('refreshes the state alone', async () => {
    log.refresh(workspace);
    await log.flush();
    expect(readdirSync(join(workspace, '.squad'))).toEqual(['CONTEXT.md']);
  });

  it('writes through no link, of a file or of the folder', async () => {
    const outside = join(dirname(workspace), 'outside');
    await mkdir(outside);
    await writeFile(join(outside, 'notes'), 'mine');
    await symlink(join(outside, 'notes'), path('IAC.md'));
    await symlink('nowhere', path('CONTEXT.md'));
    log.record(workspace, entry('r1'));
    await log.flush();
    expect(errors).toEqual(['.squad/IAC.md: is a symbolic link', '.squad/CONTEXT.md: is a symbolic link']);
    await rm(join(workspace, '.squad'), { recursive: true });
    await symlink(outside, join(workspace, '.squad'));
    log.record(workspace, entry('r2'));
    await log.flush();
    expect(errors.slice(2)).toEqual(['.squad: .squad is a symbolic link out of the workspace']);
    expect(readdirSync(outside)).toEqual(['notes']);
    expect(readFileSync(join(outside, 'notes'), 'utf8')).toBe('mine');
  });

  it('reports an error once, and writes the waiting entries after the error', async () => {
    await mkdir(path('IAC.md'));
    for (const id of ['r1', 'r2']) {
      log.record(workspace, entry(id));
      await log.flush();
    }
    expect(errors).toEqual(['.squad/IAC.md: is not a regular file']);
    await rm(path('IAC.md'), { recursive: true });
    log.record(workspace, entry('r3'));
    await log.flush();
    expect(logged()).toEqual(['r1', 'r2', 'r3']);
  });

  it('keeps bytes that are not UTF-8 where they are, and goes on', async () => {
    const theirs = Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x00, 0xff, 0x0a]);
    for (const name of ['IAC.md', 'CONTEXT.md']) await writeFile(path(name), theirs);
    log.record(workspace, entry('r1', 'Zażółć à'));
    await log.flush();
    await writeFile(path('IAC.md'), Buffer.concat([readFileSync(path('IAC.md')), theirs]));
    log.record(workspace, entry('r2', 'Zażółć à'));
    await log.flush();
    expect(errors).toEqual([]);
    for (const name of ['IAC.md', 'CONTEXT.md'])
      expect(readFileSync(path(name)).subarray(0, theirs.length)).toEqual(theirs);
    expect(readFileSync(path('IAC.md')).indexOf(theirs, theirs.length)).toBeGreaterThan(0);
    expect(logged()).toEqual(['r1', 'r2']);
    expect(read('IAC.md').match(/Zażółć à/g)).toHaveLength(2);
  });

  it('survives a store that does not answer well', async () => {
    log = new TeamLog({
      home: home(),
      stateOf: async () => {
        throw new Error('the database is locked');
      },
      onError: (file, reason) => errors.push(`${file.slice(workspace.length + 1)}: ${reason}`),
    });
    log.record(workspace, entry('r1'));
    await log.flush();
    expect(logged()).toEqual(['r1']);
    expect(errors).toEqual(['.squad/CONTEXT.md: the database is locked']);
  });
});
