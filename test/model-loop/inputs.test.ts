import { spawnSync } from 'node:child_process';
import { mkdirSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mock } from '../engines/model-server/script.ts';
import { TalkingAgent, WIRES } from './talking-agent.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const PDF = Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n');
const MIB = 1024 * 1024;

test.each(WIRES)('%s: a text and an image join the prompt, whatever they are called', async type => {
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
    { type: 'file', name: picture, mediaType: 'image/png', bytes: PNG.length },
    { type: 'text' },
  ]);
});

test.each(['anthropic', 'responses', 'google'] as const)('%s: a PDF joins the prompt', async type => {
  await using agent = await TalkingAgent.start();
  const { end } = await agent.ask(type, mock([{ text: 'read' }]), { inputs: [agent.write('a.pdf', PDF)] });
  expect(end).toMatchObject({ ok: true, answer: 'read' });
  expect(agent.model.requests[0]!.body).toContain(PDF.toString('base64'));
});

test('what cannot join is named, with what to do, and nobody is asked', async () => {
  await using agent = await TalkingAgent.start();
  mkdirSync(join(agent.cwd, 'folder'));
  const large = agent.write('large', '');
  truncateSync(large, 1024 * MIB);
  spawnSync('mkfifo', [join(agent.cwd, 'pipe')]);
  const refused: [string, RegExp][] = [
    ['missing.txt', /"missing\.txt" is not there .*absolute path/],
    ['folder', /"folder" is a folder.*files in it/],
    ['pipe', /"pipe" is not a regular file/],
    // It says that it has no bytes, and does not end.
    ['/proc/self/pagemap', /32\.\d MiB.*smaller part/],
    [large, /1024\.0 MiB.*smaller part/],
    [
      agent.write('program', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2])),
      /neither text in UTF-8 nor an image/,
    ],
    [agent.write('latin1.txt', Buffer.from('Z\xfcrich', 'latin1')), /neither text in UTF-8/],
    [agent.write('long.txt', 'x'.repeat(MIB + 1)), /a text may have 1 MiB/],
    [agent.write('big.png', Buffer.concat([PNG, Buffer.alloc(5 * MIB)])), /image\/png may have 5 MiB/],
  ];
  for (const [file, why] of refused) {
    const { end } = await agent.ask('anthropic', 'hello', { inputs: [file] });
    expect(end).toMatchObject({ ok: false, code: 'INPUT_UNREADABLE', error: expect.stringMatching(why) });
  }
  expect(agent.model.requests).toEqual([]);
});

test('files that are small enough alone may be too many', async () => {
  await using agent = await TalkingAgent.start();
  const half = agent.write('half.pdf', Buffer.concat([PDF, Buffer.alloc(20 * MIB, ' ')]));
  const { end } = await agent.ask('anthropic', 'hello', { inputs: [half, half] });
  expect(end).toMatchObject({
    code: 'INPUT_UNREADABLE',
    error: expect.stringContaining('together (32 MiB)'),
  });
});
