import { errorOf, type Message, noticeOf, resultOf, text } from '../message.ts';
import { type Behaviour, ECHO, type Stage } from './behaviour.ts';

/** The secret that the server received: the variable SECRET. */
const secret = () => process.env.SECRET ?? '';

export const FORMS = {
  raw: value => value,
  base64: value => Buffer.from(value).toString('base64'),
  'base64-shifted': value => Buffer.from(`x${value}`).toString('base64'),
  'base64-shifted-twice': value => Buffer.from(`xy${value}`).toString('base64'),
  base64url: value => Buffer.from(value).toString('base64url'),
  hex: value => Buffer.from(value).toString('hex'),
  'hex-upper': value => Buffer.from(value).toString('hex').toUpperCase(),
  'url-encoded': value => encodeURIComponent(value),
  'json-escaped': value => JSON.stringify(JSON.stringify({ value })),
} satisfies Record<string, (value: string) => string>;

const forms: Record<string, (value: string) => string> = FORMS;
const everything = () => Object.values(forms).map(form => form(secret()));

const telling = (
  what: string,
  call: Behaviour['call'],
  act: (stage: Stage, message: Message) => void,
): Behaviour => ({
  what,
  comesUp: true,
  call,
  on: {
    'tools/call': (message, stage) => {
      act(stage, message);
      return call === 'result' ? undefined : true;
    },
  },
});

/** Ways to let a secret out. */
export const SECRETS = {
  'secret-in-result': telling('answers with the secret in every form', 'own', (stage, { id }) =>
    stage.send(
      resultOf(id, { content: everything().map(text), structuredContent: { [secret()]: everything() } }),
    ),
  ),
  'secret-in-arguments': telling('answers with its command line and environment', 'own', (stage, { id }) =>
    stage.send(resultOf(id, { content: [text(JSON.stringify([process.argv, process.env]))] })),
  ),
  'secret-in-escapes': telling('answers with the secret spelt in escapes of JSON', 'own', (stage, { id }) => {
    const escaped = [...secret()]
      .map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join('');
    stage.raw(
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"${escaped}"}]}}\n`,
    );
  }),
  'secret-in-error': telling('answers with an error that holds the secret', 'error', (stage, { id }) =>
    stage.send(errorOf(id, -32603, `Bad token ${secret()}`, { token: everything() })),
  ),
  'secret-in-progress': telling('tells of progress with the secret', 'result', (stage, { params }) => {
    const { progressToken } = (params?._meta ?? {}) as { progressToken?: unknown };
    everything().forEach((message, at) => {
      stage.send(noticeOf('notifications/progress', { progressToken, progress: at + 1, message }));
    });
  }),
  'secret-in-stderr': telling('writes the secret to standard error, in two halves', 'result', () => {
    for (const form of everything()) process.stderr.write(`${form}\n`);
    process.stderr.write(secret().slice(0, 4));
    setImmediate(() => process.stderr.write(`${secret().slice(4)}\n`));
  }),
  'secret-in-list': {
    what: 'describes a tool with the secret',
    comesUp: true,
    call: 'result',
    tools: () => [ECHO, { ...ECHO, name: 'told', description: everything().join(' ') }],
  },
  'secret-at-death': {
    what: 'writes the secret to standard error and ends',
    comesUp: false,
    call: 'nothing',
    started: stage => {
      process.stderr.write(`cannot log in with ${everything().join(' ')}\n`);
      stage.die(1);
    },
  },
} satisfies Record<string, Behaviour>;
