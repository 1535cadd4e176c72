/** Inputs for the contract tests of all engines: turns and options from which commands are built. */
import type { RunEndpoint, TurnFiles, TurnInput } from '../../core/ports/engine.ts';
import { PLAIN_OPTIONS } from '../../core/testing/plain-options.ts';
import { newRunId } from '../../schema/ids.ts';
import type { RunOptions } from '../../schema/run.ts';

export const TOKEN = 'token-of-this-run-0123456789abcdef';
export const CHAT = '3f0e6a52-8d1c-4b7a-9e6f-2c4d5e6f7a8b';

export const ENDPOINT: RunEndpoint = {
  url: 'http://127.0.0.1:4567/runs/mcp',
  token: TOKEN,
  relay: { command: '/usr/bin/node', args: ['/opt/squad/relay.cjs', '--identity', '/home/u/identity'] },
};

const SCHEMA = { type: 'object', properties: { verdict: { type: 'string' } }, required: ['verdict'] };

/** All combinations of permission, tool list and the other limits. */
export const ALL_OPTIONS: RunOptions[] = (['read', 'edit', 'full'] as const).flatMap(permission =>
  [null, [], ['Read'], ['Bash', 'Read', 'Glob', 'Grep'], ['Edit', 'Write', 'WebFetch']].flatMap(tools =>
    [null, SCHEMA].flatMap(outputSchema =>
      [null, 'high'].flatMap(effort =>
        [null, 2.5].map(budgetUsd => ({
          ...PLAIN_OPTIONS,
          permission,
          tools,
          outputSchema,
          effort,
          budgetUsd,
        })),
      ),
    ),
  ),
);

export interface Rehearsal {
  input: TurnInput;
  /** Contents of the files that the turn would write, by name. */
  written: Map<string, string>;
}

/** Input of a turn that keeps written files in memory. */
export function rehearsal(changes: Partial<TurnInput> = {}): Rehearsal {
  const written = new Map<string, string>();
  const save = (folder: string) => async (name: string, content: string) => {
    written.set(name, content);
    return `${folder}/${name}`;
  };
  const files: TurnFiles = {
    path: name => `/squad/turn/${name}`,
    write: save('/squad/turn'),
    chatFolder: '/squad/chat',
    writeInChat: save('/squad/chat'),
  };
  const input: TurnInput = {
    runId: newRunId(),
    roleId: 'coder',
    task: 'the-task-itself',
    prompt: 'the-prompt-itself',
    promptFile: '/squad/turn/prompt.md',
    cwd: '/work place/here',
    worktree: null,
    model: null,
    chatId: null,
    continues: false,
    // Claude Code refuses to act as root unless this variable says that it runs in a sandbox.
    env: { PATH: '/usr/bin:/bin', HOME: '/home/u', IS_SANDBOX: '1' },
    options: PLAIN_OPTIONS,
    timeoutMs: 60_000,
    endpoint: null,
    files,
    ...changes,
  };
  return { input, written };
}
