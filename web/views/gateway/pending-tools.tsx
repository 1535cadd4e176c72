import { useState } from 'preact/hooks';
import { visibleText } from '../../../src/base/text.ts';
import type { Output } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { useKeys } from '../../keys.ts';
import { call } from '../../state/api.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { HiddenWarning } from '../../ui/hidden-warning.tsx';
import { Section } from '../../ui/layout.tsx';
import { Ago } from '../../ui/time.tsx';
import { notifyResult } from '../notify-result.ts';

type Pending = Output<'inspect_gateway'>['pending'][number];

/** True for an entry of the server file, false for a definition from a server. */
const isEntry = ({ kind }: Pending): boolean => kind === 'unmatched' || kind === 'dangling';

function effectOf(asks: readonly Pending[]): string {
  return asks.every(isEntry)
    ? 'The entry stays as it is, and agents see the tools that their roles allow.'
    : 'Agents whose roles allow it can use these definitions from now on. Later changes need approval again.';
}

interface PendingToolsProps {
  pending: readonly Pending[];
  workspace: string;
  onDone(): void;
}

/** New and changed definitions, and entries of the server file that match nothing. */
export function PendingTools({ pending, workspace, onDone }: PendingToolsProps) {
  const [asks, setAsks] = useState<readonly Pending[] | null>(null);
  useKeys([
    {
      key: 'a',
      what: 'Approve all pending changes',
      run: () => setAsks(pending),
      when: () => pending.length > 0,
    },
  ]);
  if (pending.length === 0) return null;
  const approve = async (chosen: readonly Pending[]) => {
    const [one] = chosen;
    const which = chosen.length === 1 && one ? { server: one.server, tool: one.tool } : {};
    // Approve only what was shown: a definition that changed since stays pending.
    const hashes = chosen.map(({ hash }) => hash);
    await notifyResult(call('approve_tools', { ...which, hashes }, { workspace }), told =>
      told.unseen.length > 0 && chosen.length > told.approved.length
        ? `Approved ${told.approved.length}. ${told.unseen.length} changed meanwhile: review them again.`
        : `Approved ${told.approved.length}.`,
    );
    onDone();
  };
  return (
    <Section title="Pending approvals">
      <p class="soft">
        New and changed: the definition differs from the list that Squad first read from the server. Agents do
        not see the tool until you approve it. Unmatched: an entry of the configuration names a tool that its
        server does not have. All tools of that server are hidden until you correct or approve the entry.
        Dangling: an entry restricts a server or role that does not exist. The tools that it may be meant for
        are hidden until you correct or approve the entry.
      </p>
      <p class="page-tools">
        <Button keyName="a" onClick={() => setAsks(pending)}>
          Approve all {pending.length}
        </Button>
      </p>
      {pending.map(change => (
        <article class="pending" key={`${change.server} ${change.tool} ${change.hash}`}>
          <header class="page-tools">
            <h3>
              {change.server}/{visibleText(change.tool)}
            </h3>
            <span class="tone-ask">{change.kind}</span>
            {!isEntry(change) && (
              <span class="soft">
                seen <Ago at={change.seenAt} />
              </span>
            )}
            <Button label={`Approve ${change.server}/${change.tool}`} onClick={() => setAsks([change])}>
              Approve
            </Button>
          </header>
          <HiddenWarning text={change.diff.join('\n')} where="This definition" />
          <pre class="pending-diff">
            {change.diff.map((line, index) => (
              <span key={index} class={line.startsWith('+') ? 'plus' : line.startsWith('-') ? 'minus' : ''}>
                {visibleText(line)}
                {'\n'}
              </span>
            ))}
          </pre>
        </article>
      ))}
      {asks && asks.length > 0 && (
        <Confirm
          title={
            asks.length === 1
              ? `Approve ${asks[0]?.server}/${visibleText(asks[0]?.tool ?? '')}`
              : `Approve ${asks.length}`
          }
          effect={effectOf(asks)}
          command={`squad mcp approve ${asks.length === 1 ? `${shellWord(`${asks[0]?.server}/${asks[0]?.tool}`)} ` : ''}--workspace ${shellWord(workspace)}`}
          yes="Approve"
          tone="main"
          onYes={() => approve(asks)}
          onClose={() => setAsks(null)}
        />
      )}
    </Section>
  );
}
