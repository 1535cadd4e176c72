import { expect, test } from 'vitest';
import { ToolCounts } from './engine-report.ts';

test('calls, failures, refusals and edits that were not seen to fail', () => {
  const tally = new ToolCounts();
  tally.take({ type: 'tool', name: 'Bash', detail: 'ls' });
  tally.take({ type: 'tool_end', name: 'Bash', ok: false });
  tally.take({ type: 'tool', name: 'Edit', detail: 'a.ts', edits: true });
  tally.take({ type: 'tool_end', name: 'Edit', ok: true });
  tally.take({ type: 'tool', name: 'Write', detail: 'b.ts', edits: true });
  tally.take({ type: 'tool_end', name: 'Write', ok: false, denied: true });
  tally.take({ type: 'text', text: 'done' });
  expect(tally).toMatchObject({ calls: 3, failures: 2, denials: 1, edits: 1 });
});

test('calls that were not reported one by one count too', () => {
  const tally = new ToolCounts();
  tally.take({ type: 'tool', name: 'read', detail: '' });
  tally.take({ type: 'more_tools', calls: 1_500, failed: 3 });
  expect(tally).toMatchObject({ calls: 1_501, failures: 3 });
});
