import { visibleText } from '../../src/base/text.ts';
import type { Output } from '../../src/operations/operations.ts';
import { useQuery } from '../state/query.ts';
import { Button } from '../ui/button.tsx';
import { shownDuration, shownMoney } from '../ui/figures.ts';
import { statusStyle } from '../ui/status-style.ts';
import { roleOf, taskText } from '../views/team/task-text.ts';
import type { StartChoices, StartMember } from './start-command.ts';
import { useSummary } from './summary.ts';

type Roles = Output<'list_roles'>['roles'];

interface MemberFieldsProps {
  /** Number of the member. Null for a single run, whose fields need no number. */
  number: number | null;
  member: StartMember;
  roles: Roles;
  workspace: string | null;
  onChange(some: Partial<StartMember>): void;
  onRemove(): void;
}

/** Task and role of one agent; in a squad also its own engine, budget and work tree. */
export function MemberFields({ number, member, roles, workspace, onChange, onRemove }: MemberFieldsProps) {
  const of = (name: string) => (number === null ? name : `${name} ${number}`);
  const role = roles.find(({ id }) => id === member.roleId);
  return (
    <fieldset class={number === null ? 'start-member is-only' : 'start-member'}>
      {number !== null && <legend>Member {number}</legend>}
      <label>
        {of('Task')}
        <textarea
          required
          rows={number === null ? 5 : 2}
          value={member.task}
          onInput={event => onChange({ task: event.currentTarget.value })}
        />
      </label>
      <label>
        {of('Role')}
        <select value={member.roleId} onChange={event => onChange({ roleId: event.currentTarget.value })}>
          {roles.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
        {role && role.description !== '' && <span>{visibleText(role.description)}</span>}
      </label>
      {number !== null && (
        <div class="start-own">
          <Engines
            label={of('Engine')}
            workspace={workspace}
            value={member.engine}
            onChange={engine => onChange({ engine })}
          />
          <label>
            {of('Budget')}
            <input
              type="number"
              min="0.01"
              step="any"
              placeholder="US dollars"
              value={member.budgetUsd ?? ''}
              onInput={event => onChange({ budgetUsd: Number(event.currentTarget.value) || undefined })}
            />
          </label>
          <label class="start-check">
            <input
              type="checkbox"
              aria-label={of('Work tree')}
              checked={member.isolation === 'worktree'}
              onChange={event =>
                onChange({ isolation: event.currentTarget.checked ? 'worktree' : undefined })
              }
            />{' '}
            work tree
          </label>
          <Button tone="quiet" label={of('Remove member')} onClick={onRemove}>
            remove
          </Button>
        </div>
      )}
    </fieldset>
  );
}

interface EnginesProps {
  label: string;
  workspace: string | null;
  value: string | undefined;
  onChange(engine: string | undefined): void;
}

export function Engines({ label, workspace, value, onChange }: EnginesProps) {
  const { data } = useQuery('inspect_engines', workspace === null ? null : { look: false }, {
    workspace: workspace ?? undefined,
  });
  return (
    <label>
      {label}
      <select value={value ?? ''} onChange={event => onChange(event.currentTarget.value || undefined)}>
        <option value="">default</option>
        {data?.engines.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
        <option value="scripted">scripted: a dry run without a model</option>
      </select>
    </label>
  );
}

interface FromBacklogProps {
  workspace: string;
  roles: Roles;
  onAdd(members: StartMember[]): void;
}

/** List of the backlog's open items, each of which can be added as a member. */
export function FromBacklog({ workspace, roles, onAdd }: FromBacklogProps) {
  const { data } = useQuery('list_backlog', {}, { workspace });
  const items = data?.groups.flatMap(group => group.items).filter(({ done }) => !done) ?? [];
  if (items.length === 0) return null;
  return (
    <select
      aria-label="Add from the backlog"
      value=""
      onChange={event => {
        const item = items[Number(event.currentTarget.value)];
        event.currentTarget.value = '';
        if (item)
          onAdd([
            {
              roleId: roleOf(item.owner, roles) ?? '',
              task: taskText(item),
              backlog: item.key,
              isAgain: item.run !== null,
            },
          ]);
      }}
    >
      <option value="">from the backlog…</option>
      {items.map((item, at) => (
        <option key={at} value={at}>
          {visibleText(item.title)}
          {item.run && ` (started before: ${statusStyle(item.run.status).word})`}
        </option>
      ))}
    </select>
  );
}

interface AppliesProps {
  members: readonly StartMember[];
  choices: StartChoices;
  workspace: string;
}

/** One line that says which engine, folder and limits apply. */
export function Applies({ members, choices, workspace }: AppliesProps) {
  const { data } = useSummary();
  const asked = new Map(
    members.map(({ roleId, engine = choices.engine, isolation = choices.isolation }) => [
      `${roleId} ${engine} ${isolation}`,
      { roleId, engine, isolation },
    ]),
  );
  return (
    <p class="start-applies" role="status">
      {[...asked.values()].slice(0, MAX_NAMED).map(({ roleId, engine, isolation }) => (
        <EngineOf key={`${roleId} ${engine} ${isolation}`} {...{ roleId, engine, isolation, workspace }} />
      ))}
      <span>
        in <code>{visibleText(workspace)}</code>
      </span>
      {data && (
        <span>
          {data.budgetDayUsd === null
            ? 'no daily budget'
            : `${data.spentTodayUsd === null ? 'unknown' : shownMoney(data.spentTodayUsd)} of $${data.budgetDayUsd} spent today`}
        </span>
      )}
    </p>
  );
}

const MAX_NAMED = 4;

function EngineOf({ roleId, engine, isolation, workspace }: Asked & { workspace: string }) {
  const { data } = useQuery('preview_context', { roleId, ...(engine && { engine }) }, { workspace });
  if (!data) return null;
  if (data.engine === null) return <strong class="tone-bad">{roleId}: no engine found. See Settings.</strong>;
  return (
    <span>
      {roleId}: {data.engine}, {WORKS_IN[isolation ?? data.isolation]}, at most{' '}
      {shownDuration(data.timeoutMs)}
    </span>
  );
}

type Asked = Pick<StartMember, 'roleId' | 'engine' | 'isolation'>;

const WORKS_IN = {
  worktree: 'own work tree',
  auto: 'own work tree if the folder has commits',
  none: 'in the folder',
} as const;
