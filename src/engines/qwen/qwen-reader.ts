import type { EngineReader } from '../../core/ports.ts';
import { number } from '../json-line.ts';
import { streamJsonReader } from '../stream-json-reader.ts';

export const qwenReader = (): EngineReader =>
  streamJsonReader({
    editing: ['edit', 'write_file', 'notebook_edit'],
    // The cached part is in the input already.
    tokens: usage => ({
      input: number(usage.input_tokens),
      output: number(usage.output_tokens),
      cached: number(usage.cache_read_input_tokens),
    }),
    runningTotals: ['input', 'output', 'cached'],
  });
