import type { EngineEvent } from '../../core/ports/engine.ts';
import { AgentLine } from '../../schema/agent-protocol.ts';
import type { ModelSpec } from '../../schema/model-spec.ts';
import { fieldsOf } from '../json-line.ts';

/** Reads the lines of `squad agent`. Other lines are plain output. */
export const agentLineReader =
  (prices: ModelSpec['prices']) =>
  (line: string): EngineEvent[] => {
    const read = AgentLine.safeParse(fieldsOf(line));
    return read.success ? [eventOf(read.data, prices)] : [];
  };

function eventOf(line: AgentLine, prices: ModelSpec['prices']): EngineEvent {
  switch (line.type) {
    case 'start':
      return { type: 'model', model: line.model };
    case 'tool':
      return { type: 'tool', name: line.name, detail: line.detail };
    case 'tool_end':
      return { type: 'tool_end', name: line.name, ok: line.ok };
    case 'usage': {
      const { input, output, cached, costUsd } = line;
      return { type: 'usage', usage: { input, output, cached, costUsd, costIsEstimated: prices !== null } };
    }
    case 'end': {
      const { at, ...end } = line;
      // A structured answer is printed only once, because the size of the line is limited.
      return end.structured === undefined ? end : { ...end, answer: JSON.stringify(end.structured) };
    }
    default: {
      const { at, ...event } = line;
      return event;
    }
  }
}
