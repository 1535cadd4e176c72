import { visibleText } from '../../../src/base/text.ts';
import type { Output } from '../../../src/operations/operations.ts';
import { plural } from '../../ui/figures.ts';
import { PlainLine } from '../../ui/plain.tsx';

type Overlap = Output<'find_overlap'>;

/** Maximum number of branches in the table. More would not fit on a screen. */
const MAX_RUNS = 16;
const MAX_FILES = 30;

/** Table of branch pairs with the number of files that both branches changed, followed by a list of those files. */
export function OverlapMatrix({ overlap: { runs, files, pairs, moreFiles } }: { overlap: Overlap }) {
  if (pairs.length === 0)
    return (
      <p class="soft">
        {runs.length > 1
          ? `No file was changed on more than one of the ${runs.length} branches.`
          : 'No such files.'}
      </p>
    );
  const inPairs = new Set(pairs.flatMap(pair => pair.runs));
  const shown = runs.filter(({ runId }) => inPairs.has(runId)).slice(0, MAX_RUNS);
  const numbers = new Map(shown.map(({ runId }, at) => [runId, at + 1]));
  const shared = (a: string, b: string) =>
    pairs.find(({ runs: [one, other] }) => (one === a && other === b) || (one === b && other === a))?.files ??
    0;
  const left = files.length - MAX_FILES + moreFiles;
  return (
    <>
      <div class="overlap-box">
        <table class="overlap-table">
          <caption class="unseen">Number of files that both branches changed</caption>
          <thead>
            <tr>
              <th scope="col">
                <span class="unseen">branch</span>
              </th>
              {shown.map(({ runId }, at) => (
                <th key={runId} scope="col">
                  {at + 1}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, at) => (
              <tr key={row.runId}>
                <th scope="row">
                  {at + 1}{' '}
                  <a href={`/r/${row.runId}/changes`}>
                    {visibleText(row.name)}: {visibleText(row.summary)}
                  </a>
                </th>
                {shown.map(column => {
                  if (column.runId === row.runId) return <td key={column.runId} class="is-same" />;
                  const count = shared(row.runId, column.runId);
                  return (
                    <td key={column.runId} class={count > 0 ? 'is-shared' : undefined}>
                      {count > 0 ? count : <span class="faint">·</span>}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <ul class="overlap-files">
        {files.slice(0, MAX_FILES).map(({ path, runs: among }) => (
          <li key={path}>
            <code>
              <PlainLine text={path} />
            </code>{' '}
            <span class="soft">in {among.flatMap(id => numbers.get(id) ?? []).join(', ')}</span>
          </li>
        ))}
      </ul>
      {left > 0 && <p class="soft">and {plural(left, 'more file')}</p>}
    </>
  );
}
