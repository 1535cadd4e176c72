import { expect, test } from 'vitest';
import { qwenReader } from './qwen-reader.ts';

test('giving up on an answer that does not fit its schema is told as that', () => {
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
