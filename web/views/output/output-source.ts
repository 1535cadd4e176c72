import { call } from '../../state/api.ts';
import type { OutputSource } from './output-feed.ts';

export interface OutputTarget {
  run: string;
  turn: number;
  stream: 'stdout' | 'stderr';
  /** True to show the events of an engine as readable text. */
  readable: boolean;
}

/** Reads one output of a run through the hub. */
export function outputSource({ readable, ...target }: OutputTarget, signal: AbortSignal): OutputSource {
  return {
    read: (offset, limit, lines) =>
      call('read_output', { ...target, offset, limit, lines, readable }, { signal }),
    lineAt: offset => call('locate_output', { ...target, offset }, { signal }),
    placeOf: line => call('locate_output', { ...target, line }, { signal }),
  };
}
