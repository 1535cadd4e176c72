import { visibleText } from '../../../src/base/text.ts';
import type { Output } from '../../../src/operations/operations.ts';
import { runName } from '../../../src/schema/run-text.ts';
import { withQuery } from '../../state/url-state.ts';
import { Section } from '../../ui/layout.tsx';
import { Status } from '../../ui/status.tsx';
import { Ago } from '../../ui/time.tsx';
import { Marked } from '../marked.tsx';

type Found = Output<'search_everything'>;

export function FoundRuns({ runs, total, q }: { runs: Found['runs']; total: number; q: string }) {
  if (runs.length === 0) return null;
  return (
    <Section title="Runs">
      <ul class="search-list">
        {runs.map(run => (
          <li key={run.id}>
            <Status card={run} /> <span class="soft">{runName(run)}</span>{' '}
            <a href={`/r/${run.id}`}>
              {run.title.trim() === '' ? run.id : <Marked text={run.title} search={q} />}
            </a>{' '}
            <span class="soft">
              <Ago at={run.createdAt} />
            </span>
          </li>
        ))}
      </ul>
      {total > runs.length && <a href={withQuery('/', { q })}>Show all {total} in the list of runs</a>}
    </Section>
  );
}

export function FoundDecisions({ decisions, q }: { decisions: Found['decisions']; q: string }) {
  const found = decisions?.found ?? [];
  if (found.length === 0) return null;
  return (
    <Section title="Decisions">
      <ul class="search-list">
        {found.map(({ id, title, date, by, snippet }) => (
          <li key={id}>
            <a href={withQuery('/decisions', { search: q })}>
              <Marked text={title} search={q} />
            </a>{' '}
            <span class="soft">
              {date ?? 'no date'}
              {by !== null && ` · ${visibleText(by)}`}
            </span>
            {snippet !== '' && (
              <p class="soft">
                <Marked text={snippet} search={q} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}

export function FoundOutputs({ outputs, q }: { outputs: Found['outputs']; q: string }) {
  if (outputs.length === 0) return null;
  // The search in the output was for the whole phrase, so the link repeats exactly that search.
  const phrase = `"${q.replaceAll('"', '')}"`;
  return (
    <Section title="Output">
      <ul class="search-list">
        {outputs.map(({ runId, title, turn, stream, matches, isMore, ...run }) => {
          const place = withQuery(`/r/${runId}/output`, {
            turn: String(turn),
            stream: stream === 'stderr' ? stream : null,
          });
          return (
            <li key={`${runId} ${turn} ${stream}`}>
              <span class="soft">{runName(run)}</span> <a href={place}>{visibleText(title) || runId}</a>{' '}
              <span class="soft">
                turn {turn}, {stream}
              </span>
              <ol class="search-lines">
                {matches.map(({ line, text }) => (
                  <li key={line}>
                    <a href={`${place}#L${line}`}>
                      <span class="unseen">line </span>
                      {line}
                    </a>{' '}
                    <code>
                      <Marked text={text} search={phrase} />
                    </code>
                  </li>
                ))}
              </ol>
              {isMore && <a href={place}>more matches</a>}
            </li>
          );
        })}
      </ul>
    </Section>
  );
}
