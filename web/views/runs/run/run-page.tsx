import './run.css';
import '../../views.css';
import { useEffect, useRef } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import { useKeys } from '../../../keys.ts';
import { lastList, lastRun } from '../../../state/last-list.ts';
import { type Changes, inbox } from '../../../state/live.ts';
import { useQuery } from '../../../state/query.ts';
import { saved } from '../../../state/saved.ts';
import { useViewTitle } from '../../../state/view-title.ts';
import { Empty } from '../../../ui/empty.tsx';
import { Loading } from '../../../ui/layout.tsx';
import { Problem } from '../../../ui/problem.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { ConversationTab } from '../../conversations/conversation-tab.tsx';
import { ChangesTab } from '../../evidence/changes-tab.tsx';
import { OutputTab } from '../../output/output-tab.tsx';
import { ReviewTab } from '../../review/review-tab.tsx';
import { ActivityTab } from './activity-tab.tsx';
import { DetailsTab } from './details-tab.tsx';
import { RunHeader } from './run-header.tsx';
import { runTitle } from './run-title.ts';
import type { ShownRun } from './shown-run.ts';

const TABS = ['activity', 'conversation', 'output', 'changes', 'details', 'review'] as const;
type TabName = (typeof TABS)[number];
const NAMES: Record<TabName, string> = {
  activity: 'Activity',
  conversation: 'Conversation',
  output: 'Output',
  changes: 'Changes',
  details: 'Details',
  review: 'Review',
};

/** `/r/:run/:tab`: the page of one run. */
export function RunPage() {
  const { params } = useRoute();
  const given = params.run ?? '';
  const lineage = useRef<string | null>(null);
  const { data, error, reload } = useQuery(
    'show_run',
    { run: given },
    { refreshOn: changes => concerns(changes, given, lineage.current) },
  );
  // The diff is loaded beside the run, because Changes has nothing to show without it.
  useQuery('diff_run', params.tab === 'changes' ? { run: given } : null);
  lineage.current = data?.run.lineageId ?? null;
  if (error && !data) return <Problem error={error} onRetry={reload} />;
  if (!data) return <Loading />;
  return <Shown data={data} tab={tabOf(params.tab)} isGone={error?.code === 'RUN_UNKNOWN'} />;
}

interface ShownProps {
  data: ShownRun;
  tab: TabName;
  /** The run was removed while this page was open: it has no tabs and no actions. */
  isGone: boolean;
}

function Shown({ data, tab, isGone }: ShownProps) {
  const { route } = useLocation();
  const { id } = data.run;
  const href = (name: TabName) => `/r/${id}/${name}`;
  const tabs = isGone ? [] : TABS.filter(name => has(data, name));
  const step = (by: number) => {
    const next = tabs[tabs.indexOf(tab) + by];
    if (next) route(href(next));
  };
  useViewTitle(runTitle(data.run));
  useEffect(() => {
    lastRun.value = id;
  }, [id]);
  // While a question is open, number keys select its choices.
  const isAsked = inbox.value.some(({ runId }) => runId === id);
  useKeys([
    { key: ']', what: 'Next view of this run', run: () => step(1) },
    { key: '[', what: 'Previous view of this run', run: () => step(-1) },
    { key: 'esc', what: 'Back to the runs', run: () => route(lastList.peek()), when: () => !saved },
    ...tabs.map((name, index) => ({
      key: String(index + 1),
      what: `${NAMES[name]} of this run`,
      run: () => route(href(name)),
      when: () => !isAsked,
    })),
  ]);
  if (isGone)
    return (
      <div class="run-page">
        <RunHeader data={data} isGone />
        <Empty title="This run was removed">
          The run and its output were removed while this page was open, most likely by{' '}
          <code>squad prune</code>. <a href={lastList.peek()}>Back to the runs</a>
        </Empty>
      </div>
    );
  return (
    <div class="run-page">
      <RunHeader data={data} />
      <Tabs
        label="Views of this run"
        current={href(tab)}
        tabs={tabs.map(name => ({ href: href(name), name: NAMES[name] }))}
      />
      {tab === 'activity' && <ActivityTab data={data} />}
      {tab === 'conversation' && <ConversationTab data={data} />}
      {tab === 'output' && <OutputTab data={data} />}
      {tab === 'changes' && <ChangesTab data={data} />}
      {tab === 'details' && <DetailsTab data={data} />}
      {tab === 'review' && <ReviewTab data={data} />}
    </div>
  );
}

const tabOf = (given: string | undefined): TabName => TABS.find(name => name === given) ?? 'activity';

function has({ run, review }: ShownRun, tab: TabName): boolean {
  if (tab === 'conversation') return run.engine === 'native';
  return tab !== 'review' || review !== null || run.type !== null;
}

/** True if the run must be loaded again. Activity is not enough, because the Activity tab gets it from events. */
function concerns({ events, runs }: Changes, given: string, lineage: string | null): boolean {
  return (
    events.some(({ runId, body }) => runId?.startsWith(given) && body.type !== 'run.activity') ||
    // Always loaded again, because the event does not name the pruned runs.
    events.some(({ body }) => body.type === 'runs.pruned') ||
    runs.some(run => run.id.startsWith(given) && run.status !== 'running') ||
    // A retry or reply of this run changes this page too.
    runs.some(run => run.lineageId === lineage && run.reviewOf === null && run.activity === null)
  );
}
