import { expect, test } from 'vitest';
import type { RunId, SquadId } from '../../schema/ids.ts';
import { eventLine, printJson } from './json.ts';

test('an event is one line with its version first', () => {
  const line = eventLine({
    seq: 7,
    at: 1_000,
    runId: 'run_0000000001' as RunId,
    squadId: 'squad_0000000001' as SquadId,
    body: { type: 'run.activity', kind: 'text', text: 'a\nb \u001b[2J \u009b2J' },
  });
  expect(line).toBe(
    '{"v":1,"type":"run.activity","seq":7,"at":1000,"runId":"run_0000000001","squadId":"squad_0000000001","kind":"text","text":"a\\nb \\u001b[2J \\u009b2J"}\n',
  );
  expect(JSON.parse(line).text).toBe('a\nb \u001b[2J \u009b2J');
});

test('a result is printed as plain JSON', () => {
  let printed = '';
  const terminal = {
    write: (text: string) => {
      printed += text;
    },
    isTTY: true,
    columns: 80,
    rows: 24,
    color: true,
  };
  printJson(terminal, { roles: [{ id: 'a\u0085' }] });
  expect(printed).toBe('{\n  "roles": [\n    {\n      "id": "a\\u0085"\n    }\n  ]\n}\n');
});
