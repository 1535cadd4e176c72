import { resultOf, text } from '../message.ts';
import { argumentsOf, type Behaviour, type Stage } from './behaviour.ts';

const MEBIBYTE = 1024 * 1024;
/** Endless for whoever waits, and yet a forgotten one ends. */
const ENDLESS = 2048 * MEBIBYTE;

/** Instead of an answer to a call; each chunk goes out before the next is made. */
function pour(stage: Stage, bytes: number, chunk: Buffer): void {
  for (let sent = 0; sent < bytes; sent += chunk.length) stage.raw(chunk);
}

const insteadOfAnAnswer = (
  what: string,
  act: (stage: Stage, id: unknown, nonce: string) => void,
): Behaviour => ({
  what,
  comesUp: true,
  call: 'nothing',
  on: {
    'tools/call': (message, stage) => {
      act(stage, message.id, String(argumentsOf(message).nonce));
      return true;
    },
  },
});

/** Bad frames that come instead of an answer to a call. */
export const FRAMING = {
  'huge-frame': insteadOfAnAnswer('answers with one frame of 100 MB', (stage, id) => {
    stage.raw(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"`);
    pour(stage, 100 * MEBIBYTE, Buffer.alloc(MEBIBYTE, 'x'));
    stage.raw('"}]}}\n');
  }),
  'endless-bytes': insteadOfAnAnswer('sends bytes and never a newline', stage =>
    pour(stage, ENDLESS, Buffer.alloc(MEBIBYTE, 'x')),
  ),
  'tiny-frames': insteadOfAnAnswer('sends ten million frames of one number', stage =>
    pour(stage, 20_000_000, Buffer.from('1\n'.repeat(50_000))),
  ),
  'blank-lines': insteadOfAnAnswer('sends a hundred million empty lines', stage =>
    pour(stage, 100_000_000, Buffer.alloc(MEBIBYTE, '\n')),
  ),
  'deep-json': insteadOfAnAnswer('answers with lists 100,000 deep', (stage, id) =>
    stage.raw(
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}}\n`,
    ),
  ),
  'invalid-json': insteadOfAnAnswer('answers with something that is not quite JSON', (stage, id) =>
    stage.raw(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[}}\n`),
  ),
  'dies-mid-frame': insteadOfAnAnswer('ends in the middle of its answer', (stage, id, nonce) => {
    stage.raw(
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"${nonce}`,
    );
    stage.die(0);
  }),
  'result-is-text': insteadOfAnAnswer('answers with a result that is no object', (stage, id) =>
    stage.send(resultOf(id as number, 'done')),
  ),
  'no-result': insteadOfAnAnswer('answers with neither a result nor an error', (stage, id) =>
    stage.send({ jsonrpc: '2.0', id }),
  ),
  'closes-output': insteadOfAnAnswer('closes its output and lives on', () => process.stdout.destroy()),
  'half-a-character': {
    what: 'answers with bytes that are no UTF-8',
    comesUp: true,
    call: 'own',
    on: {
      'tools/call': ({ id }, stage) => {
        const [before, after] = JSON.stringify(resultOf(id, { content: [text('[]')] })).split('[]"');
        stage.raw(Buffer.concat([Buffer.from(`${before}[`), Buffer.from([0xc3, 0x28, 0xff])]));
        stage.raw(`]"${after}\n`);
        return true;
      },
    },
  },
  'byte-by-byte': {
    what: 'answers honestly, one byte at a time, between empty lines and Windows line ends',
    comesUp: true,
    call: 'result',
    on: {
      'tools/call': (message, stage) => {
        const words = [text(String(argumentsOf(message).nonce))];
        const bytes = Buffer.from(`\n\r\n${JSON.stringify(resultOf(message.id, { content: words }))}\r\n`);
        for (const byte of bytes) stage.raw(Uint8Array.of(byte));
        return true;
      },
    },
  },
} satisfies Record<string, Behaviour>;
