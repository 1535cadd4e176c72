/** Fixture for the tests in this folder: turns in temporary folders, and functions that wait without sleeping. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunId } from '../../schema/ids.ts';
import type { TurnSandbox } from '../sandbox/sandbox-arguments.ts';
import { createProcSource } from '../table/proc-source.ts';

export interface TurnFixture {
  runId: RunId;
  number: number;
  cwd: string;
  sandbox: TurnSandbox | null;
  hardLimitMs: number;
  machine: null;
  chatFolder: string;
  command: { argv: [string, ...string[]]; stdin: string | null; env: Record<string, string>; isFed?: true };
}

export class TurnsFixture {
  readonly root = mkdtempSync(join(tmpdir(), 'squad-process-'));
  readonly runsDir = join(this.root, 'runs');
  private count = 0;

  /** Creates a turn of a new run, with its folder. A single text is a script for `sh`. */
  turn(program: string | [string, ...string[]], more: Partial<TurnFixture['command']> = {}): TurnFixture {
    const runId = `run_${process.pid}x${this.count++}x${Math.random().toString(36).slice(2, 8)}` as RunId;
    mkdirSync(this.folder({ runId, number: 1 }), { recursive: true });
    const argv: [string, ...string[]] = typeof program === 'string' ? ['/bin/sh', '-c', program] : program;
    const env = { PATH: process.env.PATH ?? '', ...more.env };
    return {
      runId,
      number: 1,
      cwd: this.root,
      sandbox: null,
      hardLimitMs: 60_000,
      machine: null,
      chatFolder: join(this.root, 'chat'),
      command: { argv, stdin: more.stdin ?? null, env, ...(more.isFed && { isFed: true }) },
    };
  }

  folder = (turn: { runId: string; number: number }): string =>
    join(this.runsDir, turn.runId, `turn-${turn.number}`);
  read = (turn: TurnFixture, name: string): string => readFileSync(join(this.folder(turn), name), 'utf8');
  write = (turn: TurnFixture, name: string, content: string): void =>
    writeFileSync(join(this.folder(turn), name), content);
  path = (name: string): string => join(this.root, name);

  /** Resolves when the turn's output contains this text. */
  said = (turn: TurnFixture, text: string): Promise<void> =>
    until(() => this.read(turn, 'stdout').includes(text), `${text} in the output of ${turn.runId}`);

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** Names of the living processes that have the run's mark. */
export async function processesOf(runId: string): Promise<string[]> {
  const source = createProcSource();
  const all = await source.list();
  const tags = await source.tags(all);
  return all.filter(({ pid }) => tags.get(pid)?.runId === runId).map(({ name }) => name);
}

export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`Waited in vain for ${what}`);
    await delay(10);
  }
}

export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
