/** The agent CLIs as a person would start them by hand, without Squad: for recordings, and to compare Squad with. */
import { dirname, join } from 'node:path';
import { type CliName, cliAt } from '../../../scripts/engine-clis.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { copilot } from './copilot.ts';
import { gemini } from './gemini.ts';
import { opencode } from './opencode.ts';
import type { BareCli, BareCommand, BareOptions } from './options.ts';
import { qwen } from './qwen.ts';

const CLIS: Record<CliName, BareCli> = { claude, codex, gemini, opencode, copilot, qwen };

export function bareCommand(name: CliName, options: BareOptions): BareCommand {
  const { args, env = {} } = CLIS[name](options);
  return { argv: [cliAt(name).program, ...args], env: { ...cleanEnvironment(options.home), ...env } };
}

export const cleanEnvironment = (home: string): Record<string, string> => ({
  HOME: home,
  PATH: [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
  TMPDIR: join(home, 'tmp'),
  LANG: 'C.UTF-8',
  TERM: 'xterm-256color',
});
