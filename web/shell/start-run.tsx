import './start.css';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { visibleText } from '../../src/base/text.ts';
import { type ApiError, asApiError, call } from '../state/api.ts';
import { useDraft } from '../state/draft.ts';
import { useQuery } from '../state/query.ts';
import { workspace } from '../state/workspace.ts';
import { Button, SubmitKey } from '../ui/button.tsx';
import { Command } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';
import { folderError } from './folder-error.ts';
import { type StartChoices, type StartedLike, type StartMember, startCommand } from './start-command.ts';
import { Applies, FromBacklog, MemberFields } from './start-member.tsx';
import { StartMore } from './start-more.tsx';

const LAST_ROLE = 'squad-last-role';
/** Delay before the hub is asked about a typed path. */
const TYPED_MS = 300;

/** Dialog that starts a run, or a squad of several. Options that are not set here come from the project and the role. */
export function StartRun({ like, onClose }: { like?: StartedLike; onClose(): void }) {
  const { route } = useLocation();
  const known = useQuery('list_workspaces', {}).data?.workspaces ?? [];
  const [typed, setTyped] = useState<string | null>(like?.folder ?? null);
  const folder = (typed ?? workspace.value ?? known[0]?.path ?? '').trim();
  const asked = useDebounced(folder);
  const isWhole = folderError(asked) === null;
  const roles = useQuery('list_roles', isWhole ? {} : null, { workspace: asked });
  const isUsable = isWhole && roles.isOf && roles.error === null;
  const names = roles.data?.roles ?? [];
  const [last] = useState(() => localStorage.getItem(LAST_ROLE) ?? '');
  const [draft, saveDraft, forgetDraft] = useDraft('start');
  const [given, setMembers] = useState<StartMember[]>(() => like?.members ?? [{ roleId: last, task: draft }]);
  const members = given.map(member => ({
    ...member,
    roleId: (names.find(({ id }) => id === member.roleId) ?? names[0])?.id ?? '',
  }));
  const [name, setName] = useState(like?.name ?? '');
  const [choices, setChoices] = useState<StartChoices>(like?.choices ?? {});
  const [error, setError] = useState<ApiError | null>(null);
  const [isSending, setSending] = useState(false);
  const [added, setAdded] = useState(0);
  const form = useRef<HTMLFormElement>(null);
  const isSquad = members.length > 1;
  const isOfFolder = roles.error?.code === 'WORKSPACE_REFUSED';
  const wrong =
    typed === null && folder === ''
      ? null
      : (folderError(folder) ?? (isOfFolder && asked === folder ? roles.error!.message : null));

  const change = (at: number, some: Partial<StartMember>) => {
    if (at === 0 && some.task !== undefined && !like) saveDraft(some.task);
    setMembers(given.map((member, index) => (index === at ? { ...member, ...some } : member)));
  };
  const add = (more: StartMember[] = [{ roleId: members.at(-1)?.roleId ?? '', task: '' }]) => {
    const kept = given.filter(({ task }, at) => task.trim() !== '' || (at === 0 && more[0]?.task === ''));
    setMembers([...kept, ...more]);
    setAdded(added + 1);
  };
  // A layout effect moves the focus before the next key press, which belongs to the new member.
  useLayoutEffect(() => {
    if (added > 0) [...(form.current?.querySelectorAll('textarea') ?? [])].at(-1)?.focus();
  }, [added]);
  const start = async () => {
    const isUnready = members.some(({ roleId, task }) => task.trim() === '' || roleId === '');
    if (isSending || isUnready || folderError(folder) !== null) return void form.current?.reportValidity();
    setSending(true);
    try {
      const { squadId, runIds, warnings } = await call(
        'start_squad',
        {
          members: members.map(({ isAgain, ...member }) => member),
          again: members.some(({ isAgain }) => isAgain),
          ...choices,
          ...(isSquad && name.trim() && { metadata: { name: name.trim() } }),
        },
        { workspace: folder },
      );
      forgetDraft();
      localStorage.setItem(LAST_ROLE, members[0]!.roleId);
      for (const warning of warnings) toast(warning);
      onClose();
      route(isSquad ? `/s/${squadId}` : `/r/${runIds[0]}`);
    } catch (thrown) {
      setError(asApiError(thrown));
      setSending(false);
    }
  };
  return (
    <Dialog
      title={isSquad ? ['Start a squad of', members.length].join(' ') : 'Start a run'}
      onClose={onClose}
    >
      <form
        class="start"
        ref={form}
        onKeyDown={event => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          if (event.shiftKey) add();
          else void start();
        }}
        onSubmit={event => {
          event.preventDefault();
          void start();
        }}
      >
        {isSquad && (
          <label>
            Name of the squad (optional)
            <input
              type="text"
              maxLength={80}
              value={name}
              onInput={event => setName(event.currentTarget.value)}
            />
          </label>
        )}
        {members.map((member, at) => (
          <MemberFields
            key={at}
            number={isSquad ? at + 1 : null}
            member={member}
            roles={names}
            workspace={isWhole ? asked : null}
            onChange={some => change(at, some)}
            onRemove={() => setMembers(given.filter((_, index) => index !== at))}
          />
        ))}
        <p class="page-tools start-add">
          <Button icon="plus" keyName="Ctrl ⇧ ↵" onClick={() => add()}>
            Add member
          </Button>
          {isUsable && <FromBacklog workspace={asked} roles={names} onAdd={items => add(items)} />}
        </p>
        <label>
          Folder
          <input
            type="text"
            required
            list="start-folders"
            placeholder="/absolute/path/of/a/project"
            aria-invalid={wrong !== null || undefined}
            aria-describedby={wrong === null ? undefined : 'start-folder-error'}
            value={typed ?? folder}
            onInput={event => {
              setTyped(event.currentTarget.value);
              setError(null);
            }}
          />
          <datalist id="start-folders">
            {known.map(({ path }) => (
              <option key={path} value={path} />
            ))}
          </datalist>
        </label>
        {wrong !== null && (
          <p id="start-folder-error" class="field-error" role="alert">
            {visibleText(wrong)}
          </p>
        )}
        <StartMore choices={choices} workspace={isWhole ? asked : null} onChange={setChoices} />
        {isUsable && <Applies members={members} choices={choices} workspace={asked} />}
        {roles.error && !isOfFolder && <Problem error={roles.error} />}
        {error && <Problem error={error} />}
        <p class="twin">
          <span>In a terminal</span>
          {members.some(hasOwn) ? (
            <span>No single command starts members with different options.</span>
          ) : (
            <Command text={startCommand(members, folder, choices, isSquad ? name.trim() : '')} />
          )}
        </p>
        <p class="actions">
          <button type="button" class="button" onClick={onClose}>
            Not now
          </button>
          <button
            type="submit"
            class="button main"
            aria-disabled={isSending || undefined}
            aria-keyshortcuts="Control+Enter"
          >
            Start <SubmitKey />
          </button>
        </p>
      </form>
    </Dialog>
  );
}

const hasOwn = ({ engine, budgetUsd, isolation }: StartMember): boolean =>
  engine !== undefined || budgetUsd !== undefined || isolation !== undefined;

/** Returns the value once it has not changed for a moment. */
function useDebounced(value: string): string {
  const [settled, settle] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => settle(value), settled === '' ? 0 : TYPED_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
