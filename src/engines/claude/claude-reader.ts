import type { EngineReader } from '../../core/ports/engine.ts';
import { streamJsonReader } from '../stream-json-reader.ts';
import { messageTokens, resultCount } from './claude-usage.ts';

export const claudeReader = (): EngineReader =>
  streamJsonReader({ editing: ['Edit', 'Write', 'MultiEdit', 'NotebookEdit'], messageTokens, resultCount });
