import { appendFileSync, readFileSync } from 'node:fs';
import { errorOf, type Json, type Message, noticeOf, resultOf, text, welcome } from './message.ts';

const schema = (properties: Json, required: string[] = []) => ({ type: 'object', properties, required });
const nonce = { type: 'string' };
const number = { type: 'number' };

const TOOLS = [
  {
    name: 'echo',
    description: 'Says the nonce again.',
    inputSchema: schema({ nonce, delayMs: number, bytes: number }, ['nonce']),
    annotations: { readOnlyHint: true },
  },
  { name: 'count', description: 'Adds a line to the file COUNT_FILE.', inputSchema: schema({ nonce }) },
  {
    name: 'progress',
    description: 'Takes steps and tells of each.',
    inputSchema: schema({ steps: number, delayMs: number }, ['steps']),
  },
  {
    name: 'about',
    description: 'Tells of this process, and the variables asked for.',
    inputSchema: schema({ env: { type: 'array', items: { type: 'string' } } }),
  },
];

/**
 * An honest server of the older era without any library: what it costs is what the way to it costs. Returned is what
 * takes its messages; `send` gets what it says.
 */
export function echoServer(send: (message: object) => void): (message: Message) => void {
  const waiting = new Map<Message['id'], NodeJS.Timeout>();

  function after(delayMs: number, id: Message['id'], then: () => void) {
    if (delayMs === 0) return then();
    waiting.set(
      id,
      setTimeout(() => {
        waiting.delete(id);
        then();
      }, delayMs),
    );
  }

  function call(id: Message['id'], { name, arguments: args = {}, _meta }: Call) {
    const say = (...words: string[]) => send(resultOf(id, { content: words.map(text) }));
    switch (name) {
      case 'echo': {
        const { nonce = '', delayMs = 0, bytes = 0 } = args as Echo;
        return after(delayMs, id, () => (bytes > 0 ? say(nonce, 'x'.repeat(bytes)) : say(nonce)));
      }
      case 'count': {
        const file = process.env.COUNT_FILE;
        if (!file) return send(errorOf(id, -32603, 'COUNT_FILE is not set'));
        appendFileSync(file, `${args.nonce ?? '-'}\n`);
        return say(String(readFileSync(file, 'utf8').split('\n').length - 1));
      }
      case 'progress':
        return step(id, Number(args.steps), Number(args.delayMs ?? 0), _meta?.progressToken);
      case 'about': {
        const names = (args.env ?? []) as string[];
        const env = Object.fromEntries(names.map(each => [each, process.env[each] ?? null]));
        const facts = { pid: process.pid, cwd: process.cwd(), args: process.argv.slice(2), env };
        return say(JSON.stringify(facts));
      }
      default:
        return send(errorOf(id, -32602, `Unknown tool: ${name}`));
    }
  }

  function step(id: Message['id'], steps: number, delayMs: number, token: unknown, done = 0) {
    if (done === steps) return send(resultOf(id, { content: [text(`${steps} steps`)] }));
    after(delayMs, id, () => {
      const progress = done + 1;
      if (token !== undefined)
        send(noticeOf('notifications/progress', { progressToken: token, progress, total: steps }));
      step(id, steps, delayMs, token, progress);
    });
  }

  return ({ id, method, params = {} }) => {
    switch (method) {
      case 'initialize':
        return send(resultOf(id, welcome('echo', params)));
      case 'tools/list':
        return send(resultOf(id, { tools: TOOLS }));
      case 'tools/call':
        return call(id, params as unknown as Call);
      case 'ping':
        return send(resultOf(id, {}));
      case 'notifications/cancelled':
        clearTimeout(waiting.get(params.requestId as Message['id']));
        return void waiting.delete(params.requestId as Message['id']);
      default:
        if (id !== undefined && method !== undefined) send(errorOf(id, -32601, 'Method not found'));
    }
  };
}

interface Call {
  name: string;
  arguments?: Json;
  _meta?: { progressToken?: unknown };
}

interface Echo {
  nonce?: string;
  delayMs?: number;
  bytes?: number;
}
