import { chmodSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestSquad } from './squad.ts';

/** Puts a program in front of the others, as Claude Code. Returns its path. */
export function installClaude(squad: TestSquad, script = 'echo "2.1.325 (Claude Code)"'): string {
  const bin = join(squad.root, 'bin');
  mkdirSync(bin, { recursive: true });
  const file = join(bin, 'claude');
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  squad.env.PATH = `${bin}:${squad.env.PATH}`;
  return file;
}

/** A chat as Claude Code leaves it behind, unchanged for a minute. Returns its file. */
export function saveChat(
  squad: TestSquad,
  id: string,
  prompt: string,
  { cwd = squad.workspace, at = Date.now() - 60_000 } = {},
): string {
  const folder = join(squad.env.HOME!, '.claude/projects', cwd.replace(/[^a-zA-Z0-9]/g, '-'));
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${id}.jsonl`);
  writeFileSync(file, `${JSON.stringify({ type: 'user', message: { content: prompt }, cwd })}\n`);
  utimesSync(file, at / 1000, at / 1000);
  return file;
}
