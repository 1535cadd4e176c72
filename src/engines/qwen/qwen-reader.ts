import type { EngineReader } from '../../core/ports/engine.ts';
import { amount, type Fields, fields } from '../json-line.ts';
import { streamJsonReader } from '../stream-json-reader.ts';
import type { Tokens } from '../stream-json-usage.ts';
import { failedRequest } from './qwen-chat-file.ts';

export const qwenReader = (): EngineReader =>
  streamJsonReader({
    editing: ['edit', 'write_file', 'notebook_edit'],
    messageTokens: tokens,
    // Qwen Code itself ends the turn if the answer does not match the schema.
    ownFailure: message => (message.includes('--json-schema') ? 'OUTPUT_MISMATCH' : null),
    unfinished: failedRequest,
    isOwnText: text => /^\[API Error: [\s\S]*\]\s*$/.test(text.trimStart()),
    resultCount: result => ({
      ...tokens(fields(result.usage)),
      costUsd: null,
      runningTotals: ['input', 'output', 'cached'],
    }),
  });

/** Input already includes the cached part. */
const tokens = (usage: Fields): Tokens => ({
  input: amount(usage.input_tokens),
  output: amount(usage.output_tokens),
  cached: amount(usage.cache_read_input_tokens),
});
