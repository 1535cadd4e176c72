import type { Engines } from '../ports/engine.ts';
import type { RunFiles } from '../ports/run-files.ts';
import { keptPlan } from '../runs/kept-plan.ts';
import type { TracesPorts } from './traces.ts';

/** Reads the messages of a turn from what its agent wrote. What its plan does not tell how to read has none. */
export const messageReader =
  ({ files, engines }: { files: RunFiles; engines: Pick<Engines, 'create'> }): TracesPorts['readMessages'] =>
  async (run, turn, take) => {
    const plan = await keptPlan(files, run);
    const reader = plan && engines.create(plan.spec).reader?.();
    if (!reader) return;
    let position = 0;
    const reading = files.follow({ runId: run.id, number: turn }, 'stdout', line => {
      for (const event of reader.line(line))
        if (event.type === 'message')
          take(event.message, { position: position++, bytes: Buffer.byteLength(line) });
    });
    await reading.stop();
  };
