import { useState } from 'preact/hooks';
import { moreCalls } from '../../../src/schema/more-calls.ts';
import { CallPart } from './call-part.tsx';
import type { Made, MoreCalls as More } from './talk.ts';

/** As many are seen without being asked for. */
const FEW = 20;

/** What a program called, below the call that ran it: each as any other call. */
export function MadeCalls({ runId, made: { calls, more } }: { runId: string; made: Made }) {
  const [isOpen] = useState(() => calls.length <= FEW);
  const failed = calls.filter(({ answer }) => answer?.result.isError).length;
  const count = calls.length === 1 ? '1 call' : `${calls.length} calls`;
  return (
    <details class="said-fold said-made" open={isOpen}>
      <summary>
        {count} in the program{failed > 0 && <span class="tone-bad">, {failed} failed</span>}
      </summary>
      <ol class="said-made-calls" aria-label="Calls in the program">
        {calls.map(made => (
          <li key={made.call.id}>
            <CallPart runId={runId} {...made} />
          </li>
        ))}
      </ol>
      {more && <MoreCalls more={more} />}
    </details>
  );
}

export function MoreCalls({ more }: { more: More }) {
  return <p class="soft">{moreCalls(more)}: not kept</p>;
}
