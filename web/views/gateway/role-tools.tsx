import { useRef, useState } from 'preact/hooks';
import type { Output } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { useKeys } from '../../keys.ts';
import { ApiError, call } from '../../state/api.ts';
import { useQuery } from '../../state/query.ts';
import { Button } from '../../ui/button.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Plain } from '../../ui/plain.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Notes } from '../notes.tsx';

type Tools = Output<'inspect_role_tools'>;

interface RoleToolsProps {
  workspace: string;
  /** Servers may be up now that were not. */
  onLooked(): void;
}

/** What one role sees of all servers, and why not the rest. */
export function RoleTools({ workspace, onLooked }: RoleToolsProps) {
  const roles = useQuery('list_roles', {}, { workspace }).data?.roles ?? [];
  const [role, setRole] = useState('');
  const [answer, setAnswer] = useState<Tools | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isLooking, setLooking] = useState(false);
  const latest = useRef(0);
  const look = async () => {
    const mine = ++latest.current;
    setLooking(true);
    setError(null);
    try {
      const told = await call('inspect_role_tools', role === '' ? {} : { role }, { workspace });
      if (mine === latest.current) setAnswer(told);
    } catch (thrown) {
      if (mine === latest.current)
        setError(thrown instanceof ApiError ? thrown : new ApiError('PAGE_ERROR', String(thrown)));
    } finally {
      if (mine === latest.current) setLooking(false);
      onLooked();
    }
  };
  useKeys([
    {
      key: 'l',
      what: 'List the tools of this role',
      run: () => void look(),
      when: () => !isLooking,
    },
  ]);
  return (
    <section class="page-part">
      <h2>Tools of a role</h2>
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
        <Button keyName="l" onClick={() => void look()} why={isLooking ? 'Asking the servers…' : null}>
          List tools
        </Button>
        <Copy
          text={`squad mcp tools${role === '' ? '' : ` --role ${shellWord(role)}`} --workspace ${shellWord(workspace)}`}
          label="command"
          isShown
        />
      </p>
      <p role="status" class="soft">
        {isLooking && 'Asking the servers…'}
      </p>
      {error && <Problem error={error} onRetry={() => void look()} />}
      {answer && <Answer answer={answer} />}
    </section>
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
      <table class="sheet">
        <thead>
          <tr>
            <th scope="col">tool</th>
            <th scope="col">visible</th>
            <th scope="col">description</th>
          </tr>
        </thead>
        <tbody>
          {tools.map(({ name, server, tool, description, isVisible, reason }) => (
            <tr key={`${server} ${tool}`}>
              <td class="wide">
                <code>
                  <Plain text={name} isBlock={false} />
                </code>
              </td>
              <td class={isVisible ? 'tone-good' : 'soft'}>
                {isVisible ? 'yes' : <Plain text={`no: ${reason ?? 'not allowed'}`} isBlock={false} />}
              </td>
              <td class="wide soft">
                <Plain text={description} isBlock={false} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
