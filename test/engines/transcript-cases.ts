/** The situations every CLI is recorded in. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { CliName } from '../../scripts/engine-clis.ts';
import type { BareOptions } from './bare/options.ts';
import { mock, type Step } from './model-server/script.ts';

export interface Case {
  name: string;
  turns: CaseTurn[];
  options?: Pick<BareOptions, 'mcp' | 'schema' | 'ungranted'>;
  /** Arguments at the end of the command line. */
  more?: string[];
  only?: CliName[];
}

export interface CaseTurn {
  prompt(tag: string, cwd: string): string;
  /** Terminated once this resolves. */
  stopWhen?(cwd: string): Promise<void>;
}

const turn = (...steps: Step[]): CaseTurn => ({ prompt: tag => `Do as told. ${mock(steps, tag)}` });
const counted = (input: number, output: number, cached = 0) => ({ usage: { input, output, cached } });
const PING = { name: 'spike', argv: [process.execPath, join(import.meta.dirname, 'ping-mcp.ts')] };
const SCHEMA = {
  type: 'object',
  properties: { verdict: { type: 'string' } },
  required: ['verdict'],
  additionalProperties: false,
};

export const CASES: Case[] = [
  { name: 'answer', turns: [turn({ text: 'Hello from the model.', ...counted(1200, 34, 1000) })] },
  {
    name: 'tool',
    turns: [
      turn(
        { text: 'I will look.', shell: 'echo hi-from-shell', ...counted(1000, 20) },
        { text: 'It said hi.', ...counted(1100, 10, 1000) },
      ),
    ],
  },
  {
    name: 'failing-tool',
    turns: [turn({ shell: 'echo oh-no >&2; exit 3' }, { text: 'It failed.' })],
  },
  {
    name: 'chat',
    turns: [turn({ text: 'First.', ...counted(500, 5) }), turn({ text: 'Second.', ...counted(700, 7, 500) })],
  },
  {
    name: 'mcp',
    turns: [turn({ call: 'ping', arguments: { value: 'v' } }, { text: 'It answered.' })],
    options: { mcp: PING },
  },
  {
    name: 'not-allowed',
    turns: [turn({ shell: 'touch made.txt' }, { text: 'I may not.' })],
    options: { ungranted: true },
  },
  {
    name: 'structured',
    turns: [turn({ structured: { verdict: 'fine' } })],
    options: { schema: SCHEMA },
    only: ['claude', 'codex', 'qwen'],
  },
  {
    name: 'budget',
    turns: [turn({ shell: 'echo one', ...counted(100_000, 9) }, { text: 'Too late.' })],
    more: ['--max-budget-usd', '0.001'],
    only: ['claude'],
  },
  { name: 'api-401', turns: [turn({ status: 401 })] },
  { name: 'api-429', turns: [turn({ status: 429 })] },
  { name: 'api-500', turns: [turn({ status: 500 })] },
  { name: 'garbage', turns: [turn({ garbage: true })] },
  {
    name: 'terminated',
    turns: [{ ...turn({ shell: 'touch started; exec tail -f /dev/null' }), stopWhen: started }],
  },
];

async function started(cwd: string): Promise<void> {
  for (let look = 0; look < 600 && !existsSync(join(cwd, 'started')); look++) await pause(50);
}
