import { useCallback } from 'preact/hooks';
import { Copy } from '../../../ui/copy.tsx';
import { plural } from '../../../ui/figures.ts';
import { PlainLine } from '../../../ui/plain.tsx';
import { Lines } from '../../../ui/usage.tsx';
import { placeName } from '../../evidence/diff-place.ts';
import { Markdown } from '../../markdown.tsx';
import type { ShownRun } from './shown-run.ts';

/** Rendered answer of a run. Empty until the run has an answer. */
export function RunAnswer({ data: { run, result } }: { data: Pick<ShownRun, 'run' | 'result'> }) {
  const files = run.evidence?.filesChanged?.files;
  const linkOf = useCallback(
    (path: string, line: number) => {
      const file = files?.map(pathOf).find(one => one === path || path.endsWith(`/${one}`));
      return file === undefined ? null : changesHref(run.id, placeName({ path: file, line, side: 'new' }));
    },
    [run.id, files],
  );
  if (result.result === null || result.result === '') return null;
  return (
    <section class="answer" aria-labelledby={`answer-${run.id}`}>
      <h2 id={`answer-${run.id}`}>
        Answer <Copy text={result.result} label="answer" />
      </h2>
      <Markdown text={result.result} linkOf={linkOf} />
      {result.truncated && (
        <p class="soft">
          The middle is left out here. See the <a href={`/r/${run.id}/output`}>output</a> for all of it.
        </p>
      )}
    </section>
  );
}

/** Path without the letter for the kind of change, as in `A src/new.ts`. */
const pathOf = (file: string): string => file.replace(/^\S+ /, '');

const changesHref = (run: string, place: string): string => `/r/${run}/changes#${encodeURI(place)}`;

/** Files that the run changed, each a link into its diff. */
export function ChangedFiles({ run }: { run: ShownRun['run'] }) {
  const changed = run.evidence?.filesChanged;
  if (!changed || changed.count === 0) return null;
  const more = changed.count - changed.files.length;
  return (
    <section class="changed-files" aria-labelledby="changed-title">
      <h2 id="changed-title">
        <a href={`/r/${run.id}/changes`}>{plural(changed.count, 'file')} changed</a>{' '}
        <Lines lines={run.evidence?.diff ?? null} />
      </h2>
      <ul>
        {changed.files.map(file => (
          <li key={file}>
            <a href={changesHref(run.id, pathOf(file))}>
              <code>
                <PlainLine text={file} />
              </code>
            </a>
          </li>
        ))}
        {more > 0 && <li class="soft">and {more} more</li>}
      </ul>
    </section>
  );
}
