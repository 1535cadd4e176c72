import { Copy } from '../../../ui/copy.tsx';
import { Plain } from '../../../ui/plain.tsx';
import { Money, Tokens } from '../../../ui/usage.tsx';
import { Fact, Part } from './details-parts.tsx';
import type { ShownRun } from './shown-run.ts';

/** The evidence, and what it used. */
export function Seen({ data: { run } }: { data: ShownRun }) {
  const { evidence, usage } = run;
  return (
    <Part title="What Squad saw">
      <dl>
        <Fact name="Verdict">{evidence?.verdict ?? 'nobody has looked yet'}</Fact>
        {evidence && (
          <>
            <Fact name="Tool calls">
              {known(evidence.toolCalls)}, {known(evidence.toolFailures)} failed
            </Fact>
            <Fact name="Files changed">
              {evidence.filesChanged === null ? 'cannot be told' : evidence.filesChanged.count}
              {evidence.filesChanged && evidence.filesChanged.files.length > 0 && (
                <ul class="details-list">
                  {evidence.filesChanged.files.map(file => (
                    <li key={file}>
                      <code>
                        <Plain text={file} isBlock={false} />
                      </code>
                    </li>
                  ))}
                </ul>
              )}
            </Fact>
            <Fact name="Commits">
              {evidence.commits === null ? 'cannot be told' : evidence.commits.count}
              {evidence.commits && evidence.commits.newest.length > 0 && (
                <ul class="details-list">
                  {evidence.commits.newest.map(({ id, subject }) => (
                    <li key={id}>
                      <Copy text={id} label="commit" isShown /> <Plain text={subject} isBlock={false} />
                    </li>
                  ))}
                </ul>
              )}
            </Fact>
            {evidence.note && (
              <Fact name="Note">
                <Plain text={evidence.note} isBlock={false} />
              </Fact>
            )}
          </>
        )}
        <Fact name="Tokens">
          <Tokens usage={usage} />
        </Fact>
        <Fact name="Cost">
          <Money usd={usage?.costUsd ?? null} isEstimated={usage?.costIsEstimated} />
        </Fact>
        {run.notes.map(note => (
          <Fact key={note} name="Note">
            <Plain text={note} isBlock={false} />
          </Fact>
        ))}
      </dl>
    </Part>
  );
}

const known = (count: number | null): string => (count === null ? 'unknown' : String(count));
