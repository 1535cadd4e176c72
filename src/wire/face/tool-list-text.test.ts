import { describe, expect, it } from 'vitest';
import type { ToolDef } from './face.ts';
import { toolListText } from './tool-result.ts';

const tool = (more: object): ToolDef => ({
  name: 't',
  description: 'd',
  inputSchema: { type: 'object' },
  ...more,
});
const read = (text: string) => JSON.parse(text) as unknown;

describe('a list of tools as text', () => {
  it('is made once for each era, as long as it is the same list', { tags: ['R13'] }, () => {
    let made = 0;
    const counted = tool({
      toJSON: () => {
        made += 1;
        return {};
      },
    });
    const list = [counted];
    for (let again = 0; again < 3; again += 1) {
      toolListText(list, 'legacy');
      toolListText(list, 'modern');
    }
    expect(made).toBe(2);
    toolListText([counted], 'modern');
    expect(made).toBe(3);
  });

  it('says in each era only what the era has words for', () => {
    const list = [
      tool({ execution: { taskSupport: 'optional' }, outputSchema: { type: 'array' } }),
      tool({ outputSchema: { type: 'object', required: [] } }),
    ];
    expect(read(toolListText(list, 'legacy'))).toEqual([
      tool({ execution: { taskSupport: 'optional' } }),
      list[1],
    ]);
    expect(read(toolListText(list, 'modern'))).toEqual([tool({ outputSchema: { type: 'array' } }), list[1]]);
  });
});
