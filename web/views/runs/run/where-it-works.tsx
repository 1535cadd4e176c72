import type { ComponentChildren } from 'preact';
import { Copy } from '../../../ui/copy.tsx';
import { Plain } from '../../../ui/plain.tsx';
import { Fact, Part } from './details-parts.tsx';
import type { ShownRun } from './shown-run.ts';

/** Its folder, its branch, and the pull request that came of it. */
export function Where({ data: { run, work, pullRequest } }: { data: ShownRun }) {
  return (
    <Part title="Where">
      <dl>
        <Fact name="Works in">
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
              {work.isThere === null
                ? 'cannot be told'
                : work.isThere
                  ? 'is there'
                  : 'is gone; the branch is not'}
              {work.tip === null && ', its branch is gone'}
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
    </Part>
  );
}

/** An address that somebody else gave: a link only where it leads to the web. */
function WebLink({ url, children }: { url: string; children: ComponentChildren }) {
  const isWeb = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!isWeb) return <Plain text={url} isBlock={false} />;
  return (
    <a href={url} rel="noreferrer noopener" target="_blank">
      {children} {url}
    </a>
  );
}
