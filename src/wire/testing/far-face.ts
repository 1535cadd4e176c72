import { SquadError } from '../../schema/error.ts';
import type { Face, ForwardedCall } from '../face/face.ts';
import { UpstreamFault } from '../upstream/link.ts';

type Params = Record<string, unknown>;
type Behaviour = (params: Params, call: ForwardedCall) => Promise<Record<string, unknown> | null>;

export interface FarFace {
  face: Face;
  /** Params of all calls that were forwarded without the SDK, in order. */
  past: Params[];
  /** Open calls of `far__hold`, oldest first. A call ends when its signal aborts, unless it has `isDeaf`. */
  held: { params: Params; call: ForwardedCall; release(): void }[];
  /** The `key` of every open call whose signal aborted. */
  aborted: unknown[];
}

/**
 * A face with tools of another server, one for each way in which a call can end. With `direct` they can also be called
 * without the SDK.
 */
export function farFace({ direct }: { direct: boolean }): FarFace {
  const past: Params[] = [];
  const held: FarFace['held'] = [];
  const aborted: unknown[] = [];
  const hold: Behaviour = (params, call) =>
    new Promise((resolve, reject) => {
      const { key, isDeaf } = (params.arguments ?? {}) as Params;
      call.signal.addEventListener('abort', () => {
        aborted.push(key);
        if (!isDeaf) reject(call.signal.reason);
      });
      held.push({
        params,
        call,
        release: () => resolve({ content: [{ type: 'text', text: `held ${key}` }] }),
      });
    });
  const behaviours = new Map<string, Behaviour>(Object.entries({ ...BEHAVIOURS, far__hold: hold }));
  const run = async (name: string, params: Params, call: ForwardedCall) =>
    (await behaviours.get(name)?.(params, call)) ?? null;
  const tools = [...behaviours.keys()].map(name => ({
    name,
    description: `Far away, "${name}" \u2028 is done.`,
    inputSchema: { type: 'object' as const, properties: { key: { type: 'string' } } },
  }));

  const face: Face = {
    info: { name: 'far', title: 'Far away', version: '1' },
    logging: true,
    tools: {
      list: async () => tools,
      async call(name, args, call) {
        const progress: ForwardedCall['progress'] = ({ message, progress, total }) =>
          void call.progress(message, progress, total);
        const given = { signal: call.signal, progress: call.wantsProgress ? progress : null };
        const result = await run(name, { name, arguments: args }, given);
        return result && { raw: result as { content: [] } };
      },
    },
    ...(direct && {
      forwarded: {
        takes: name => name.startsWith('far__'),
        call(name, params, call) {
          past.push(params);
          return run(name, params, call);
        },
      },
    }),
  };
  return { face, past, held, aborted };
}

const text = (said: string) => [{ type: 'text', text: said }];

const BEHAVIOURS: Record<string, Behaviour> = {
  far__echo: async ({ arguments: args = {} }) => ({
    content: text(JSON.stringify(args)),
    structuredContent: { args },
  }),
  far__bare: async () => ({ structuredContent: { a: 1 } }),
  far__refuses: async () => ({ content: text('no \u2028 ü'), isError: true, _meta: { 'example/x': [1] } }),
  far__steps: async (_params, { progress }) => {
    progress?.({ progress: 1, total: 4, message: 'one' });
    progress?.({ progress: 0.5 });
    progress?.({ progress: 3, total: 4, message: 'three' });
    progress?.({ progress: Number.NaN, total: 4 });
    setImmediate(() => progress?.({ progress: 9, message: 'too late' }));
    return { content: text(progress ? 'told' : 'quiet') };
  },
  far__fails: async () => {
    const error = { code: -32050, message: 'Out of paper', data: { tray: 2 } };
    throw new UpstreamFault('answer', 'The server says: out of paper', { error });
  },
  far__plainly: async () => {
    throw { code: 7, message: 'Its own number' };
  },
  far__gone: async () => {
    throw Object.assign(new Error('Resource not found'), { code: -32002, data: { uri: 'x://y' } });
  },
  far__mistake: async () => {
    throw new SquadError('INVALID_INPUT', 'That is no path.', { suggestions: ['Give another.'] });
  },
  far__crash: async () => {
    throw new TypeError('boom');
  },
};
