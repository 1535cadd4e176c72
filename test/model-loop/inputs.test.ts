import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, statSync, truncateSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { mock } from '../engines/model-server/script.ts';
import { TalkingAgent, WIRES } from './talking-agent.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const PDF = Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n');
const MIB = 1024 * 1024;
const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

test.each(WIRES)(
  '%s: a text and an image join the prompt, whatever they are called',
  { tags: ['E2'] },
  async type => {
    await using agent = await TalkingAgent.start();
    agent.write('notes.bin', 'Zürich\n');
    const picture = agent.write('picture.txt', PNG);
    const { end, messages } = await agent.ask(type, `Look ${mock([{ text: 'seen' }])}`, {
      inputs: ['notes.bin', picture],
    });
    expect(end).toMatchObject({ ok: true, answer: 'seen' });
    const { body } = agent.model.requests[0]!;
    expect(body).toContain('Zürich');
    expect(body).toContain('notes.bin');
    expect(body).toContain('image/png');
    expect(body).toContain(PNG.toString('base64'));
    expect(messages[0]!.content).toMatchObject([
      { type: 'file', name: 'notes.bin', mediaType: 'text/plain', bytes: 8 },
      { type: 'file', name: picture, mediaType: 'image/png', bytes: PNG.length, sha256: hashOf(PNG) },
      { type: 'text' },
    ]);
  },
);

test.each(['anthropic', 'responses', 'google'] as const)(
  '%s: a PDF joins the prompt',
  { tags: ['E2'] },
  async type => {
    await using agent = await TalkingAgent.start();
    // Of every length after the last whole group of three, and longer than it is read at once.
    const files = [
      PDF,
      Buffer.concat([PDF, randomBytes(300_001)]),
      Buffer.concat([PDF, randomBytes(300_002)]),
    ];
    const inputs = files.map((file, at) => agent.write(`${at}.pdf`, file));
    const { end } = await agent.ask(type, `Zürich ${mock([{ text: 'read' }])}`, { inputs });
    expect(end).toMatchObject({ ok: true, answer: 'read' });
    for (const file of files) expect(agent.model.requests[0]!.body).toContain(file.toString('base64'));
    expect(agent.model.requests[0]!.body).not.toContain('SquadInput');
  },
);

test('files of a chat are stored with it and sent again when it continues', { tags: ['E2'] }, async () => {
  await using agent = await TalkingAgent.start();
  const large = Buffer.concat([PDF, randomBytes(400_000)]);
  const inputs = [agent.write('a.pdf', large)];
  await agent.ask('anthropic', mock([{ text: 'read' }]), { inputs });
  expect(statSync(agent.chatFile).size).toBeLessThan(10_000);
  const folder = join(dirname(agent.chatFile), 'inputs');
  const kept = readdirSync(folder).map(name => statSync(join(folder, name)));
  expect(kept.map(({ size, mode }) => [size, mode & 0o777])).toEqual([[large.length, 0o600]]);
  agent.write('a.pdf', 'another by now');
  await agent.ask('anthropic', mock([{ text: 'again' }]), { continues: true });
  expect(agent.model.requests[1]!.body).toContain(large.toString('base64'));
});

test('the error names every unsupported file, and none is used', { tags: ['E2'] }, async () => {
  await using agent = await TalkingAgent.start();
  mkdirSync(join(agent.cwd, 'folder'));
  const inputs = [agent.write('good.pdf', PDF), 'folder', 'missing.txt', agent.write('bad.bin', '\0')];
  const { end } = await agent.ask('anthropic', 'hello', { inputs });
  expect(end!.error).toMatch(/"folder" is a folder\..*"missing\.txt" does not exist.*bad\.bin" is not UTF-8/);
  expect(end!.error).not.toContain('good.pdf');
  expect(() => readdirSync(dirname(agent.chatFile))).toThrow('ENOENT');
  const many = await agent.ask('anthropic', 'hello', {
    inputs: Array.from({ length: 100 }, (_, at) => `missing-${at}.txt`),
  });
  expect(many.end!.error).toMatch(/"missing-0\.txt".*"missing-1\.txt".* And \d\d more\.$/);
  expect(agent.model.requests).toEqual([]);
});

test('an unsupported file is an error that says what to do, and the model is not asked', {
  tags: ['E2'],
}, async () => {
  await using agent = await TalkingAgent.start();
  mkdirSync(join(agent.cwd, 'folder'));
  const large = agent.write('large', PDF);
  truncateSync(large, 1024 * MIB);
  spawnSync('mkfifo', [join(agent.cwd, 'pipe')]);
  const refused: [string, RegExp][] = [
    ['missing.txt', /"missing\.txt" does not exist .*absolute one/],
    ['folder', /"folder" is a folder.*files inside it/],
    ['pipe', /"pipe" is not a regular file/],
    // It says that it has no bytes, and does not end.
    ['/proc/self/pagemap', /not UTF-8 text.*Convert it/],
    [large, /"[^"]*large" has 1,073,741,824 bytes, and the limit for a PDF is 32 MiB.*smaller part/],
    ['missing.txt/below', /does not exist/],
    ['x'.repeat(300), /"…x{200}" cannot be opened: ENAMETOOLONG/],
    [agent.write('program', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2])), /not UTF-8 text, an image/],
    [agent.write('latin1.txt', Buffer.from('Z\xfcrich', 'latin1')), /not UTF-8 text/],
    [
      agent.write('late.txt', `${'x'.repeat(MIB - 10)}\xff\0`),
      /not UTF-8 text, an image.*let the subagent read it/,
    ],
    [
      agent.write('long.txt', 'x'.repeat(MIB + 1)),
      /has 1,048,577 bytes, and the limit for a text is 1 MiB \(1,048,576 bytes\)/,
    ],
    [agent.write('big.png', Buffer.concat([PNG, Buffer.alloc(5 * MIB)])), /an image \(image\/png\) is 5 MiB/],
  ];
  for (const [file, why] of refused) {
    const { end } = await agent.ask('anthropic', 'hello', { inputs: [file] });
    expect(end).toMatchObject({ ok: false, code: 'INPUT_UNREADABLE', error: expect.stringMatching(why) });
  }
  expect(agent.model.requests).toEqual([]);
});

test('files that are small enough alone may be too large together', { tags: ['E2'] }, async () => {
  await using agent = await TalkingAgent.start();
  const half = agent.write('half.pdf', Buffer.concat([PDF, Buffer.alloc(20 * MIB, ' ')]));
  const { end } = await agent.ask('anthropic', 'hello', { inputs: [half, half] });
  expect(end).toMatchObject({
    code: 'INPUT_UNREADABLE',
    error: expect.stringMatching(/together have 41,943,\d+ bytes, .* is 32 MiB/),
  });
});
