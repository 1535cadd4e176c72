import { appendFileSync, existsSync, rmSync } from 'node:fs';
import { type Message, noticeOf, resultOf, text, welcome } from '../../servers/message.ts';
import { readLines, sendLine } from '../../servers/stdio-lines.ts';

/**
 * `nonce-server.ts ID FOLDER [stays]`: says nonces again, and leaves in FOLDER what it really did: a line in `starts` for each time
 * it was started, one in `effects` for each call. It dies as a call asks it to, and at the next list when `ID.dies` is there.
 * With `stays` it ends neither with its input nor on SIGTERM.
 */
const [id = '', folder = '', stays] = process.argv.slice(2);
const waiting = new Map<Message['id'], NodeJS.Timeout>();
const note = (file: string, line: string) => appendFileSync(`${folder}/${file}`, `${line}\n`);

export type Fate = 'answers' | 'dies-before' | 'dies-after' | 'dies-in-frame';

const TOOLS = ['say', 'repeat'].map(name => ({
  name,
  description: 'Says the nonce again.',
  inputSchema: {
    type: 'object',
    properties: {
      nonce: { type: 'string' },
      delayMs: { type: 'number' },
      steps: { type: 'number' },
      fate: { type: 'string' },
    },
    required: ['nonce'],
  },
}));

note('starts', `${id} ${process.pid}`);
if (stays) {
  process.on('SIGTERM', () => {});
  // Without input there is nothing else that keeps it.
  setInterval(() => {}, 60_000);
}
readLines(({ id: at, method, params = {} }) => {
  switch (method) {
    case 'initialize':
      return sendLine(resultOf(at, welcome('nonce', params)));
    case 'tools/list':
      return list(at);
    case 'tools/call':
      return call(at, params as unknown as Call);
    case 'ping':
      return sendLine(resultOf(at, {}));
    case 'notifications/cancelled':
      clearTimeout(waiting.get(params.requestId as Message['id']));
      return void waiting.delete(params.requestId as Message['id']);
  }
}, !stays);

interface Call {
  arguments: { nonce: string; delayMs?: number; steps?: number; fate?: Fate };
  _meta?: { progressToken?: unknown };
}

function list(at: Message['id']): void {
  const dies = `${folder}/${id}.dies`;
  if (existsSync(dies)) {
    rmSync(dies);
    process.exit(1);
  }
  sendLine(resultOf(at, { tools: TOOLS }));
}

function call(at: Message['id'], { arguments: args, _meta }: Call): void {
  const { nonce, delayMs = 0, steps = 0, fate = 'answers' } = args;
  if (fate === 'dies-before') process.exit(1);
  note('effects', nonce);
  if (fate === 'dies-after') process.exit(1);
  const answer = resultOf(at, { content: [text(nonce)] });
  if (fate === 'dies-in-frame') {
    const frame = JSON.stringify(answer);
    return void process.stdout.write(frame.slice(0, frame.length / 2), () => process.exit(1));
  }
  for (let progress = 1; progress <= steps; progress++)
    sendLine(
      noticeOf('notifications/progress', { progressToken: _meta?.progressToken, progress, message: nonce }),
    );
  const say = () => {
    waiting.delete(at);
    sendLine(answer);
  };
  waiting.set(at, setTimeout(say, delayMs));
}
