import { appendFileSync } from 'node:fs';
import { errorOf, type Message, noticeOf, resultOf, text } from '../message.ts';
import { argumentsOf, type Behaviour, type Stage } from './behaviour.ts';

const onCall = (
  what: string,
  call: Behaviour['call'],
  act: (message: Message, stage: Stage) => void,
): Behaviour => ({
  what,
  comesUp: true,
  call,
  on: {
    'tools/call': (message, stage) => {
      act(message, stage);
      return true;
    },
  },
});

const saying = (id: Message['id'], words: string) => resultOf(id, { content: [text(words)] });

/** One message each that no request of a client led to; the first request of every client has the id 1 or less. */
const UNASKED: ((id: Message['id'], at: number) => object)[] = [
  (_id, at) => saying(1_000_000 + at, 'nobody asked'),
  () => saying(1, 'asked and answered'),
  (_id, at) => errorOf(2_000_000 + at, -32000, 'nobody failed'),
  (id, at) => ({
    jsonrpc: '2.0',
    id: `${id}-${at}`,
    method: 'sampling/createMessage',
    params: { messages: [] },
  }),
  (id, at) => ({ jsonrpc: '2.0', id: `${id}-${at}`, method: 'roots/list' }),
  (id, at) => ({
    jsonrpc: '2.0',
    id: `${id}-${at}`,
    method: 'elicitation/create',
    params: { message: 'Password?' },
  }),
  () => noticeOf('notifications/message', { level: 'error', data: 'nobody listens' }),
  (_id, at) => noticeOf('notifications/progress', { progressToken: 3_000_000 + at, progress: at }),
  () => noticeOf('notifications/resources/updated', { uri: 'note://x' }),
  () => noticeOf('notifications/cancelled', { requestId: 4_000_000 }),
  id => saying(String(id), 'nearly'),
  () => saying(null, 'to whom it may concern'),
];

/** Well-formed answers that are not what they should be. */
export const ANSWERS = {
  'mute-call': onCall('never answers a call', 'nothing', () => {}),
  'dies-before-answer': onCall('ends when it is called', 'nothing', (_message, stage) => stage.die(1)),
  'dies-after-effect': onCall(
    'does what it was asked, adds a line to COUNT_FILE, and ends without an answer',
    'nothing',
    (message, stage) => {
      if (process.env.COUNT_FILE)
        appendFileSync(process.env.COUNT_FILE, `${argumentsOf(message).nonce ?? '-'}\n`);
      stage.die(1);
    },
  ),
  'foreign-id': onCall(
    "answers with the id of the oldest other call, or of one that nobody made, and never with the call's own",
    'nothing',
    ({ id }, stage) => {
      const other = stage.open.find(call => call.id !== id);
      stage.send(saying(other?.id ?? `${id}0`, 'for somebody else'));
    },
  ),
  'id-as-text': onCall('answers with the id as a string', 'nothing', ({ id }, stage) =>
    stage.send(saying(typeof id === 'number' ? String(id) : Number(id), 'nearly')),
  ),
  'null-id': onCall('answers with no id at all', 'nothing', (_message, stage) =>
    stage.send(saying(null, 'to whom it may concern')),
  ),
  twice: onCall('answers every call twice', 'result', (message, stage) => {
    stage.honest(message);
    stage.send(saying(message.id, 'and again'));
  }),
  strays: onCall('sends 5,000 answers nobody asked for, then the right one', 'result', (message, stage) => {
    for (let id = 1; id <= 5_000; id++) stage.send(saying(1_000_000 + id, 'stray'));
    stage.honest(message);
  }),
  unasked: {
    what: 'sends as many messages that nobody asked for as the call says, of every kind, then the right answer; a call with `late` it answers so often, once it is cancelled',
    comesUp: true,
    call: 'result',
    on: {
      'tools/call': (message, stage) => {
        const { unasked = 60, late } = argumentsOf(message);
        if (late !== undefined) return true;
        for (let at = 0; at < Number(unasked); at++)
          stage.send(UNASKED[at % UNASKED.length]!(message.id, at));
        stage.honest(message);
        return true;
      },
      'notifications/cancelled': ({ params }, stage) => {
        const call = stage.open.find(({ id }) => id === params?.requestId);
        if (!call) return true;
        for (let at = 0; at < Number(argumentsOf(call).late ?? 1); at++)
          stage.send(saying(call.id, 'too late'));
        return true;
      },
    },
  },
  'late-after-cancel': {
    what: 'answers a call only once it is cancelled',
    comesUp: true,
    call: 'nothing',
    on: {
      'tools/call': () => true,
      'notifications/cancelled': ({ params }, stage) => {
        stage.send(saying(params?.requestId as number, 'too late'));
        return true;
      },
    },
  },
  'is-error': onCall('answers that the tool failed', 'own', ({ id }, stage) =>
    stage.send(resultOf(id, { isError: true, content: [text('The tool failed.')] })),
  ),
  'protocol-error': onCall(
    'answers with an error of the code that was asked for, otherwise -32603',
    'error',
    (message, stage) =>
      stage.send(errorOf(message.id, argumentsOf(message).code ?? -32603, 'As requested', { why: 'asked' })),
  ),
  'error-without-code': onCall('answers with an error that has no code', 'nothing', ({ id }, stage) =>
    stage.send({ jsonrpc: '2.0', id, error: { message: 'Something' } }),
  ),
  'result-and-error': onCall('answers with a result and an error at once', 'error', ({ id }, stage) =>
    stage.send({ ...saying(id, 'fine'), error: { code: -32603, message: 'not fine' } }),
  ),
  'big-text': onCall('answers with 5 MB of text', 'own', ({ id }, stage) =>
    stage.send(saying(id, 'Lorem ipsum. '.repeat(400_000))),
  ),
  'busy-then-answers': onCall('does nothing else for 2.5 s, then answers', 'result', (message, stage) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
    stage.honest(message);
  }),
} satisfies Record<string, Behaviour>;
