import type { ComponentChildren } from 'preact';
import { useQuery } from '../../../state/query.ts';
import { Copy } from '../../../ui/copy.tsx';
import { Section } from '../../../ui/layout.tsx';
import { Plain, PlainLine } from '../../../ui/plain.tsx';
import { Ago } from '../../../ui/time.tsx';
import { Burn } from './burn.tsx';
import { Fact } from './details-parts.tsx';
import { How, Rules } from './how-it-runs.tsx';
import { RunLink } from './run-link.tsx';
import type { ShownRun } from './shown-run.ts';
import { Files, Turns } from './turns-and-files.tsx';

/** Ids and versions of the run, and the client that started it. */
function Ids({ data: { run, squad } }: { data: ShownRun }) {
  const { data: hub } = useQuery('hub_status', {});
  return (
    <Section title="IDs and versions">
      <dl>
        <Fact name="Run">
          <Copy text={run.id} label="run id" isShown />
        </Fact>
        <Fact name="Squad">
          <Copy text={run.squadId} label="squad id" isShown /> <a href={`/s/${run.squadId}`}>open</a>
        </Fact>
        {run.lineageId !== run.id && (
          <Fact name="First run of the task">
            <RunLink id={run.lineageId} />
          </Fact>
        )}
        {run.parentId && (
          <Fact name="Started by">
            <RunLink id={run.parentId} />
          </Fact>
        )}
        <Fact name="Requested by">{run.client ?? squad?.client ?? 'unknown'}</Fact>
        <Fact name="Requested">
          <Ago at={run.createdAt} />
        </Fact>
        {hub && <Fact name="Hub">version {hub.version}</Fact>}
      </dl>
    </Section>
  );
}

/** Shows the evidence of the run. */
function Seen({ data: { run } }: { data: ShownRun }) {
  const { evidence } = run;
  return (
    <Section title="Evidence">
      <dl>
        <Fact name="Verdict">{evidence?.verdict ?? 'not checked yet'}</Fact>
        {evidence && (
          <>
            <Fact name="Tool calls">
              {known(evidence.toolCalls)}, {known(evidence.toolFailures)} failed
            </Fact>
            <Fact name="Files changed">
              {evidence.filesChanged === null ? 'unknown' : evidence.filesChanged.count}
              {evidence.filesChanged && evidence.filesChanged.files.length > 0 && (
                <ul class="details-list">
                  {evidence.filesChanged.files.map(file => (
                    <li key={file}>
                      <code>
                        <PlainLine text={file} />
                      </code>
                    </li>
                  ))}
                </ul>
              )}
            </Fact>
            <Fact name="Commits">
              {evidence.commits === null ? 'unknown' : evidence.commits.count}
              {evidence.commits && evidence.commits.newest.length > 0 && (
                <ul class="details-list">
                  {evidence.commits.newest.map(({ id, subject }) => (
                    <li key={id}>
                      <Copy text={id} label="commit" isShown /> <PlainLine text={subject} />
                    </li>
                  ))}
                </ul>
              )}
            </Fact>
            {evidence.note && (
              <Fact name="Note">
                <PlainLine text={evidence.note} />
              </Fact>
            )}
          </>
        )}
        {run.notes.map(note => (
          <Fact key={note} name="Note">
            <PlainLine text={note} />
          </Fact>
        ))}
      </dl>
    </Section>
  );
}

const known = (count: number | null): string => (count === null ? 'unknown' : String(count));

/** Folder, branch and pull request of the run. */
function Where({ data: { run, work, pullRequest } }: { data: ShownRun }) {
  return (
    <Section title="Location">
      <dl>
        <Fact name="Folder">
          <Copy text={run.directory} label="folder" isShown />
        </Fact>
        <Fact name="Workspace">
          <Copy text={run.workspace} label="workspace" isShown />
        </Fact>
        {work && (
          <>
            <Fact name="Branch">
              <Copy text={work.branch} label="branch" isShown />
            </Fact>
            <Fact name="Forked from">
              <Copy text={work.base} label="commit" isShown />
            </Fact>
            <Fact name="Work tree">
              {work.isThere === null ? 'unknown' : work.isThere ? 'present' : 'removed, branch kept'}
              {work.tip === null && ', branch deleted'}
            </Fact>
            {work.tip && (
              <Fact name="Tip">
                <Copy text={work.tip} label="commit" isShown />
              </Fact>
            )}
            {work.saved.map(ref => (
              <Fact key={ref} name="Saved, not committed">
                <Copy text={ref} label="ref" isShown />
              </Fact>
            ))}
          </>
        )}
        {pullRequest && (
          <Fact name="Pull request">
            <WebLink url={pullRequest.url}>#{pullRequest.number}</WebLink>
          </Fact>
        )}
      </dl>
    </Section>
  );
}

/** Link to a URL from outside Squad, if it is http or https. Any other URL stays text. */
function WebLink({ url, children }: { url: string; children: ComponentChildren }) {
  const isWeb = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!isWeb) return <PlainLine text={url} />;
  return (
    <a href={url} rel="noreferrer noopener" target="_blank">
      {children} {url}
    </a>
  );
}

/** Facts about the run that are not part of its activity, output or changes. */
export function DetailsTab({ data }: { data: ShownRun }) {
  return (
    <div class="details">
      <Task data={data} />
      <Where data={data} />
      <How data={data} />
      <Rules data={data} />
      <Burn data={data} />
      <Seen data={data} />
      <Turns data={data} />
      <Files data={data} />
      <Ids data={data} />
    </div>
  );
}

function Task({ data: { run } }: { data: ShownRun }) {
  return (
    <Section title="Task">
      <p>
        <Copy text={run.task} label="task" />
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable */}
      <div class="details-task" tabIndex={0}>
        <Plain text={run.task} />
      </div>
    </Section>
  );
}
