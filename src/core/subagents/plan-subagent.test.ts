import { expect, test } from 'vitest';
import { newSquadId } from '../../schema/ids.ts';
import type { Squad } from '../../schema/run.ts';
import type { Subagent } from '../../schema/subagent.ts';
import type { PlanContext } from '../runs/plan-run.ts';
import type { RunRequest } from '../runs/run-request.ts';
import { isSubagentRequest, planSubagent } from './plan-subagent.ts';

// biome-ignore lint/suspicious/noTemplateCurlyInString: variables of a server are written like this
const token = '${FILES_TOKEN}';
const servers = { servers: { files: { type: 'stdio', command: 'files', args: [], env: { TOKEN: token } } } };
const spec = { kind: 'native', subagent: { name: 'review', servers }, inputs: [] } as const;
const setting = (value: unknown) => ({ value });

async function planned(request: Partial<RunRequest>) {
  const asked: unknown[] = [];
  const engine = {
    ...{ id: 'native', reader: null, policy: () => [], needsVariable: () => false, sandboxLimit: null },
    newChat: { kind: 'minted', mint: () => 'chat_1' },
    command: async () => ({ argv: ['node'], stdin: null, env: {} }),
  };
  const context = {
    workspace: {
      root: '/project',
      directory: async (cwd: string, within?: string) => asked.push([cwd, within]),
      config: {
        ...{ stateMode: setting('stateful'), processTimeoutMs: setting(1_000) },
        ...{ onEnd: setting(null), onAsk: setting(null) },
        ...{ sandbox: setting(null), network: setting(null), sandboxRead: setting([]) },
      },
    },
    caller: { client: null, env: {}, parent: null },
    environment: async () => ({ PATH: '/bin', FILES_TOKEN: 'secret', MODEL: 'x' }),
    engines: { refresh: async () => ({ spec, notes: [] }), create: () => engine },
    files: { chatFolder: () => '/chat' },
    settings: {},
    remainingBudget: null,
    baseline: () => null,
  } as unknown as PlanContext;
  const whole: RunRequest = { task: 'Look at this', stateMode: 'stateless', spec: spec as never, ...request };
  if (!isSubagentRequest(whole)) throw new Error('It is a request for a subagent');
  const membership = { squad: { id: newSquadId(), createdAt: 1 } as Squad, position: 0, members: 1 };
  return { ...(await planSubagent(whole, membership, context)), asked };
}

const place = { directory: '/elsewhere', worktree: null };

test('a subagent works where its caller is, which may be outside the workspace', async () => {
  const { run, asked } = await planned({ place });
  expect(asked).toEqual([['/elsewhere', '/elsewhere']]);
  expect(run).toMatchObject({ directory: '/elsewhere', worktree: null });
});

test('a subagent gets the prompt as it is, and the servers of its file with their variables', async () => {
  const { run, prompt, env, variables } = await planned({ place });
  expect(prompt).toBe('Look at this');
  expect(run.options).toMatchObject({ tools: null, servers, subagent: 'review', setup: null });
  expect({ env, variables }).toEqual({
    env: { PATH: '/bin', MODEL: 'x' },
    variables: { FILES_TOKEN: 'secret' },
  });
});

test('only a request for the native engine with a subagent is one', () => {
  const native = (subagent: Subagent | null): RunRequest => ({
    task: 'x',
    spec: { kind: 'native', subagent, inputs: [] },
  });
  expect(isSubagentRequest({ task: 'x' })).toBe(false);
  expect(isSubagentRequest(native(null))).toBe(false);
  expect(isSubagentRequest(native({} as Subagent))).toBe(true);
});
