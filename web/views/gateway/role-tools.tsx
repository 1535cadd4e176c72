import { useRef, useState } from 'preact/hooks';
import type { Output } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { useKeys } from '../../keys.ts';
import { type ApiError, asApiError, call } from '../../state/api.ts';
import { useQuery } from '../../state/query.ts';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/copy.tsx';
import { Section, Sheet } from '../../ui/layout.tsx';
import { PlainLine } from '../../ui/plain.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Notes } from '../notes.tsx';

type Tools = Output<'inspect_role_tools'>;

interface RoleToolsProps {
  workspace: string;
  /** Called after listing, because servers may have been started. */
  onListed(): void;
}

/** Tools of all servers that one role can use, with the reason for the others. */
export function RoleTools({ workspace, onListed }: RoleToolsProps) {
  const roles = useQuery('list_roles', {}, { workspace }).data?.roles ?? [];
  const [role, setRole] = useState('');
  const [answer, setAnswer] = useState<Tools | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isListing, setListing] = useState(false);
  const latest = useRef(0);
  const list = async () => {
    const mine = ++latest.current;
    setListing(true);
    setError(null);
    try {
      const found = await call('inspect_role_tools', role === '' ? {} : { role }, { workspace });
      if (mine === latest.current) setAnswer(found);
    } catch (thrown) {
      if (mine === latest.current) setError(asApiError(thrown));
    } finally {
      if (mine === latest.current) setListing(false);
      onListed();
    }
  };
  useKeys([
    {
      key: 'l',
      what: 'List the tools of this role',
      run: () => void list(),
      when: () => !isListing,
    },
  ]);
  return (
    <Section title="Tools of a role">
      <p class="soft">
        Listing tools starts the servers that are not running. They stop again when they are not in use.
      </p>
      <p class="page-tools">
        <label>
          Role{' '}
          <select value={role} onChange={event => setRole(event.currentTarget.value)}>
            <option value="">no role</option>
            {roles.map(({ id }) => (
              <option key={id} value={id}>
                {id}
              </option>
            ))}
          </select>
        </label>
        <Button keyName="l" onClick={() => void list()} why={isListing ? 'Asking the servers…' : null}>
          List tools
        </Button>
        <Command
          text={`squad mcp tools${role === '' ? '' : ` --role ${shellWord(role)}`} --workspace ${shellWord(workspace)}`}
        />
      </p>
      <p role="status" class="soft">
        {isListing && 'Asking the servers…'}
      </p>
      {error && <Problem error={error} onRetry={() => void list()} />}
      {answer && <Answer answer={answer} />}
    </Section>
  );
}

function Answer({ answer: { role, tools, faults, warnings } }: { answer: Tools }) {
  const seen = tools.filter(({ isVisible }) => isVisible);
  return (
    <>
      <Notes notes={[...warnings, ...faults.map(({ server, fault }) => `${server}: ${fault}`)]} />
      <p>
        {role ?? 'Without a role'}: {seen.length} of {tools.length} tools
      </p>
      <Sheet columns={['tool', 'visible', 'description']}>
        {tools.map(({ name, server, tool, description, isVisible, reason }) => (
          <tr key={`${server} ${tool}`}>
            <td class="wide">
              <code>
                <PlainLine text={name} />
              </code>
            </td>
            <td class={isVisible ? 'tone-good' : 'soft'}>
              {isVisible ? 'yes' : <PlainLine text={`no: ${reason ?? 'not allowed'}`} />}
            </td>
            <td class="wide soft">
              <PlainLine text={description} />
            </td>
          </tr>
        ))}
      </Sheet>
    </>
  );
}
