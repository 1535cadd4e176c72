import { SquadError } from '../../schema/error.ts';
import type { Call, Face, ToolDef, ToolResult } from '../face/face.ts';

const anything: ToolDef['inputSchema'] = { type: 'object', properties: {} };

export interface SampleFace {
  face: Face;
  /** Open calls of `hold`, oldest first. Each waits for `release` or its signal. */
  held: { call: Call; release(): void }[];
  /** How each call of `hold` ended. */
  ended: ('released' | 'aborted')[];
}

/** A face with one tool for each behaviour that the protocol layer must support. */
export function sampleFace(): SampleFace {
  const held: SampleFace['held'] = [];
  const ended: SampleFace['ended'] = [];
  const tools: Record<string, (args: Record<string, unknown>, call: Call) => Promise<ToolResult>> = {
    echo: async (args, call) => ({ structured: { args, client: call.client, era: call.era } }),
    refuse: async () => ({
      structured: { error: { code: 'TASK_EMPTY', message: 'Nothing to do.' } },
      isError: true,
    }),
    crash: async () => {
      throw new SquadError('DISK_FULL', 'No space for the run.', { suggestions: ['Free some space.'] });
    },
    count: async (_args, call) => {
      await call.progress('one');
      await call.progress('far', 10, 20);
      await call.progress('back', 3, 20);
      // The tool does not wait for this notification, but it must arrive before the result.
      void call.progress('last', 20, 20);
      setImmediate(() => void call.progress('too late'));
      return { structured: { asked: call.wantsProgress } };
    },
    hold: (_args, call) =>
      new Promise(resolve => {
        const finish = (how: 'released' | 'aborted') => {
          ended.push(how);
          resolve({ structured: { how } });
        };
        call.signal.addEventListener('abort', () => finish('aborted'), { once: true });
        held.push({ call, release: () => finish('released') });
      }),
  };

  const face: Face = {
    info: { name: 'sample', version: '1.2.3' },
    instructions: 'Only for tests.',
    tools: {
      list: async () =>
        Object.keys(tools).map(name => ({ name, description: `Does ${name}.`, inputSchema: anything })),
      call: async (name, args, call) => (await tools[name]?.(args, call)) ?? null,
      mayChange: true,
    },
    resources: {
      list: async () => [{ uri: 'sample://a', name: 'a' }],
      read: async uri => (uri === 'sample://a' ? { contents: [{ uri, text: 'A' }] } : null),
      watchable: true,
    },
    prompts: {
      list: async () => [{ name: 'greet' }],
      get: async name =>
        name === 'greet' ? { messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }] } : null,
    },
  };
  return { face, held, ended };
}
