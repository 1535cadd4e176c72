import type { EngineReader } from '../../core/ports.ts';
import { number, sum } from '../json-line.ts';
import { streamJsonReader } from '../stream-json-reader.ts';

export const claudeReader = (): EngineReader =>
  streamJsonReader({
    editing: ['Edit', 'Write', 'MultiEdit', 'NotebookEdit'],
    // The API counts what it read from its cache and what it wrote into it apart from the rest of the input.
    tokens: usage => ({
      input: sum(
        number(usage.input_tokens),
        number(usage.cache_read_input_tokens),
        number(usage.cache_creation_input_tokens),
      ),
      output: number(usage.output_tokens),
      cached: number(usage.cache_read_input_tokens),
    }),
    runningTotals: ['costUsd'],
  });
