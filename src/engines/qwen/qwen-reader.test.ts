import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CHAT } from '../testing/contract.ts';
import { readTurn } from '../testing/transcript.ts';
import { qwenReader } from './qwen-reader.ts';

test('giving up on an answer that does not match its schema is reported as that', () => {
  const words = 'Model produced plain text instead of calling the tool as required by --json-schema.';
  const line = JSON.stringify({
    type: 'result',
    subtype: 'error',
    is_error: true,
    error: { message: words },
  });
  expect(qwenReader().line(line)).toContainEqual(
    expect.objectContaining({ type: 'end', ok: false, code: 'OUTPUT_MISMATCH', error: words }),
  );
});

const ERROR = '[API Error: 401 scripted 401]';
const said = (text: string) =>
  JSON.stringify({ type: 'assistant', message: { content: [{ type: 'text', text }] } });
const result = (fields: object) => JSON.stringify({ type: 'result', ...fields });

test('its own text about a failed request is a note, not words of the agent', async () => {
  const failed = result({ is_error: true, error: { message: ERROR } });
  const { events, end } = await readTurn(qwenReader(), [said('Looking.'), said(ERROR), failed], 1);
  expect(events.filter(({ type }) => type === 'text')).toEqual([{ type: 'text', text: 'Looking.' }]);
  expect(events).toContainEqual({ type: 'note', text: ERROR });
  expect(end).toMatchObject({ ok: false, answer: '', error: ERROR, code: 'ENGINE_NOT_LOGGED_IN' });
});

test('such a text is no answer either, whatever the result says', async () => {
  const { end } = await readTurn(qwenReader(), [result({ is_error: false, result: ERROR })], 0);
  expect(end).toMatchObject({ ok: false, answer: '', code: 'ENGINE_NOT_LOGGED_IN' });
  const quoted = `I saw ${ERROR} in the log.`;
  expect((await readTurn(qwenReader(), [result({ is_error: false, result: quoted })], 0)).end).toMatchObject({
    ok: true,
    answer: quoted,
  });
});

test('an answer that had to be continued at the output limit is noted for the result', () => {
  const line = { type: 'system', subtype: 'retry', data: { preserveText: true } };
  expect(qwenReader().line(JSON.stringify(line))).toEqual([
    { type: 'note', text: expect.stringContaining('output limit'), isForResult: true },
  ]);
  expect(qwenReader().line(JSON.stringify({ ...line, data: { preserveText: false } }))).toEqual([]);
});

test('a failed request that it waits to repeat is found in its record of the chat', async () => {
  const projects = mkdtempSync(join(tmpdir(), 'squad-qwen-'));
  onTestFinished(() => rmSync(projects, { recursive: true }));
  for (const name of ['-other', '-work/chats']) mkdirSync(join(projects, name), { recursive: true });
  const recorded = (event: object) =>
    `${JSON.stringify({ type: 'system', subtype: 'ui_telemetry', systemPayload: { uiEvent: event } })}\n`;
  const failed = recorded({ 'event.name': 'qwen-code.api_error', error_message: 'busy', status_code: 429 });
  const answered = recorded({ 'event.name': 'qwen-code.api_response', status_code: 200 });
  const init = JSON.stringify({ type: 'system', subtype: 'init', session_id: CHAT });
  const notesAfter = async (chat: string) => {
    writeFileSync(join(projects, '-work/chats', `${CHAT}.jsonl`), chat);
    const { events } = await readTurn(qwenReader(), [init], 143, { 'qwen-projects-path': projects });
    return events.filter(({ type }) => type === 'note');
  };
  expect(await notesAfter(`{"type":"user"}\n${answered}${failed}{"cut`)).toEqual([
    {
      type: 'note',
      text: "The model's API failed: busy",
      retry: { code: 'ENGINE_RATE_LIMITED', waitMs: null },
    },
  ]);
  expect(await notesAfter(`${failed}${answered}`)).toEqual([]);
});
